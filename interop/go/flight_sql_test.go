package interop

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	"google.golang.org/grpc/codes"
)

var tradeSchema = arrow.NewSchema([]arrow.Field{
	nullable("id", arrow.PrimitiveTypes.Int64),
	nullable("symbol", arrow.BinaryTypes.String),
	nullable("price", arrow.PrimitiveTypes.Float64),
	nullable("at", us),
}, nil)

func trades(t *testing.T) arrow.RecordBatch {
	t.Helper()
	return batchOf(t, tradeSchema, `[
		{"id": 1, "symbol": "BTC", "price": 64250.5, "at": 0},
		{"id": 2, "symbol": "ETH", "price": 3120.25, "at": 1000001},
		{"id": 3, "symbol": null, "price": null, "at": null}]`)
}

func connectToTrades(t *testing.T) *flightsql.Client {
	t.Helper()
	client := connect(t)
	put(t, client, "go_trades", trades(t))
	return client
}

func query(t *testing.T, client *flightsql.Client, sql string) arrow.Table {
	t.Helper()
	info, err := client.Execute(t.Context(), sql)
	return read(t, client, info, err)
}

func TestAStatementSaysItsSchemaAndIsPolled(t *testing.T) {
	client := connectToTrades(t)
	answer, err := client.GetExecuteSchema(t.Context(), "SELECT * FROM go_trades")
	check(t, err)
	sameColumns(t, schemaOf(t, answer.Schema), tradeSchema)
	poll, err := client.ExecutePoll(t.Context(), "SELECT symbol FROM go_trades WHERE id = 2", nil)
	check(t, err)
	equal(t, poll.FlightDescriptor == nil, true)
	equal(t, rows(t, read(t, client, poll.Info, nil)), `{"symbol":"ETH"}`)
}

func TestPreparedStatementsTakeOtherValuesEachTime(t *testing.T) {
	client := connectToTrades(t)
	statement, err := client.Prepare(t.Context(), "SELECT symbol FROM go_trades WHERE id = ?")
	check(t, err)
	equal(t, statement.ParameterSchema().Field(0).Type, arrow.DataType(arrow.PrimitiveTypes.Int64))
	equal(t, statement.DatasetSchema().Field(0).Name, "symbol")
	isUpdate, isKnown := statement.IsUpdate()
	equal(t, []bool{isUpdate, isKnown}, []bool{false, true})
	for value, want := range map[string]string{"1": `{"symbol":"BTC"}`, "2": `{"symbol":"ETH"}`, "9": ""} {
		statement.SetParameters(batchOf(t, statement.ParameterSchema(), `[{"1": `+value+`}]`))
		info, err := statement.Execute(t.Context())
		equal(t, rows(t, read(t, client, info, err)), want)
	}
	check(t, statement.Close(t.Context()))
	_, err = statement.Execute(t.Context())
	if err == nil {
		t.Fatal("a closed statement was run")
	}
}

func TestUpdatesCreateReplaceAndDropTables(t *testing.T) {
	client := connectToTrades(t)
	update := func(sql string) (int64, error) { return client.ExecuteUpdate(t.Context(), sql) }
	count := func(sql string) int64 {
		t.Helper()
		kept, err := update(sql)
		check(t, err)
		return kept
	}
	count("DROP TABLE IF EXISTS go_kept")
	equal(t, count("CREATE TABLE go_kept AS SELECT id FROM go_trades"), int64(3))
	_, err := update("CREATE TABLE go_kept AS SELECT 1 AS id")
	refused(t, err, codes.AlreadyExists, `"go_kept"`)
	equal(t, count("CREATE OR REPLACE TABLE go_kept AS SELECT 1 AS id"), int64(1))
	equal(t, rows(t, query(t, client, "SELECT * FROM go_kept")), `{"id":1}`)
	statement, err := client.Prepare(t.Context(), "CREATE OR REPLACE TABLE go_kept AS SELECT id FROM go_trades WHERE id > ?")
	check(t, err)
	isUpdate, _ := statement.IsUpdate()
	equal(t, isUpdate, true)
	statement.SetParameters(batchOf(t, idSchema, `[{"id": 1}]`))
	kept, err := statement.ExecuteUpdate(t.Context())
	check(t, err)
	equal(t, kept, int64(2))
	count("DROP TABLE go_kept")
	_, err = update("DROP TABLE go_kept")
	refused(t, err, codes.NotFound, `"go_kept"`)
	_, err = update("DELETE FROM go_trades")
	refused(t, err, codes.PermissionDenied, "DELETE")
}

func TestAnIngestTellsHowManyRowsThereWere(t *testing.T) {
	client := connect(t)
	reader, err := array.NewRecordReader(tradeSchema, []arrow.RecordBatch{trades(t), trades(t)})
	check(t, err)
	count, err := client.ExecuteIngest(t.Context(), reader, &flightsql.ExecuteIngestOpts{
		TableDefinitionOptions: &flightsql.TableDefinitionOptions{
			IfNotExist: flightsql.TableDefinitionOptionsTableNotExistOptionCreate,
			IfExists:   flightsql.TableDefinitionOptionsTableExistsOptionReplace,
		},
		Table: "go_ingested",
	})
	check(t, err)
	equal(t, count, int64(6))
	equal(t, rows(t, query(t, client, "SELECT count(*) AS n, sum(price) AS s FROM go_ingested")), `{"n":6,"s":134741.5}`)
}

func TestMetadataHasTheSchemasThatFlightSqlGivesIt(t *testing.T) {
	client := connectToTrades(t)
	ctx := t.Context()
	table := flightsql.TableRef{Table: "go_trades"}
	name := "go\\_trades"
	for _, one := range []struct {
		name   string
		ask    func() (*flight.FlightInfo, error)
		schema *arrow.Schema
		rows   string
	}{
		{"catalogues", func() (*flight.FlightInfo, error) { return client.GetCatalogs(ctx) }, schema_ref.Catalogs, `{"catalog_name":"memory"}`},
		{"schemas", func() (*flight.FlightInfo, error) { return client.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{}) }, schema_ref.DBSchemas, `{"catalog_name":"memory","db_schema_name":"main"}`},
		{"tables", func() (*flight.FlightInfo, error) {
			return client.GetTables(ctx, &flightsql.GetTablesOpts{TableNameFilterPattern: &name})
		}, schema_ref.Tables, `{"catalog_name":"memory","db_schema_name":"main","table_name":"go_trades","table_type":"TABLE"}`},
		{"types of tables", func() (*flight.FlightInfo, error) { return client.GetTableTypes(ctx) }, schema_ref.TableTypes, `{"table_type":"TABLE"}`},
		{"primary keys", func() (*flight.FlightInfo, error) { return client.GetPrimaryKeys(ctx, table) }, schema_ref.PrimaryKeys, ""},
		{"exported keys", func() (*flight.FlightInfo, error) { return client.GetExportedKeys(ctx, table) }, schema_ref.ExportedKeys, ""},
		{"imported keys", func() (*flight.FlightInfo, error) { return client.GetImportedKeys(ctx, table) }, schema_ref.ImportedKeys, ""},
		{"cross references", func() (*flight.FlightInfo, error) { return client.GetCrossReference(ctx, table, table) }, schema_ref.CrossReference, ""},
		{"types", func() (*flight.FlightInfo, error) { number := int32(16); return client.GetXdbcTypeInfo(ctx, &number) }, schema_ref.XdbcTypeInfo, ""},
		{"facts", func() (*flight.FlightInfo, error) {
			return client.GetSqlInfo(ctx, []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerName})
		}, schema_ref.SqlInfo, `{"info_name":0,"value":[0,"Data-frame server (DuckDB)"]}`},
	} {
		t.Run(one.name, func(t *testing.T) {
			info, err := one.ask()
			answer := read(t, client, info, err)
			equal(t, answer.Schema().String(), one.schema.String())
			sameSchema(t, info.Schema, one.schema)
			equal(t, rows(t, answer), one.rows)
		})
	}
}

func TestTablesComeWithTheirSchemas(t *testing.T) {
	client := connectToTrades(t)
	name := "go_trades"
	info, err := client.GetTables(t.Context(), &flightsql.GetTablesOpts{TableNameFilterPattern: &name, IncludeSchema: true})
	answer := read(t, client, info, err)
	equal(t, answer.Schema().String(), schema_ref.TablesWithIncludedSchema.String())
	sameColumns(t, schemaOf(t, column(t, answer, 4).(*array.Binary).Value(0)), tradeSchema)
}

func TestSessionsKnowTheCatalogueAndSchemaThereAre(t *testing.T) {
	client := connect(t)
	main, _ := flight.NewSessionOptionValue("main")
	other, _ := flight.NewSessionOptionValue("other")
	set, err := client.SetSessionOptions(t.Context(), &flight.SetSessionOptionsRequest{
		SessionOptions: map[string]*flight.SessionOptionValue{"schema": &main, "catalog": &other},
	})
	check(t, err)
	equal(t, len(set.Errors), 1)
	equal(t, set.Errors["catalog"].Value, flight.SetSessionOptionsResultErrorInvalidValue)
	got, err := client.GetSessionOptions(t.Context(), &flight.GetSessionOptionsRequest{})
	check(t, err)
	equal(t, got.SessionOptions["catalog"].GetStringValue(), "memory")
	closed, err := client.CloseSession(t.Context(), &flight.CloseSessionRequest{})
	check(t, err)
	equal(t, closed.Status, flight.CloseSessionResultClosed)
}

func TestThereAreNoTransactions(t *testing.T) {
	_, err := connect(t).BeginTransaction(t.Context())
	refused(t, err, codes.Unimplemented, `"BeginTransaction"`)
}

func TestAQueryIsCancelledByItsInfoAndByItsContext(t *testing.T) {
	client := connect(t)
	for name, end := range map[string]func(*testing.T, *flight.FlightInfo, context.CancelFunc){
		"info": func(t *testing.T, info *flight.FlightInfo, _ context.CancelFunc) {
			result, err := client.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: info})
			check(t, err)
			equal(t, result.Status, flight.CancelStatusCancelled)
		},
		"context": func(_ *testing.T, _ *flight.FlightInfo, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			info, err := client.Execute(t.Context(), "SELECT * FROM range(1000000000)")
			check(t, err)
			until, cancel := context.WithCancel(t.Context())
			defer cancel()
			reader, err := client.DoGet(until, info.Endpoint[0].Ticket)
			check(t, err)
			defer reader.Release()
			equal(t, reader.Next(), true)
			end(t, info, cancel)
			for reader.Next() {
			}
			refused(t, reader.Err(), codes.Canceled, "")
		})
	}
}
