package interop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	driver "github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// open returns a connection of the ADBC driver, with a table to query.
func open(t *testing.T, options map[string]string) adbc.Connection {
	t.Helper()
	all := map[string]string{adbc.OptionKeyURI: "grpc://" + address}
	for key, value := range options {
		all[key] = value
	}
	database, err := driver.NewDriver(memory.DefaultAllocator).NewDatabase(all)
	check(t, err)
	t.Cleanup(func() { _ = database.Close() })
	connection, err := database.Open(t.Context())
	check(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	_, err = ingest(t, connection, "go_trades", adbc.OptionValueIngestModeReplace)
	check(t, err)
	return connection
}

func statementOf(t *testing.T, connection adbc.Connection, sql string) adbc.Statement {
	t.Helper()
	statement, err := connection.NewStatement()
	check(t, err)
	t.Cleanup(func() { _ = statement.Close() })
	check(t, statement.SetSqlQuery(sql))
	return statement
}

func ingest(t *testing.T, connection adbc.Connection, table, mode string) (int64, error) {
	t.Helper()
	statement, err := connection.NewStatement()
	check(t, err)
	defer statement.Close()
	check(t, statement.SetOption(adbc.OptionKeyIngestTargetTable, table))
	check(t, statement.SetOption(adbc.OptionKeyIngestMode, mode))
	check(t, statement.Bind(t.Context(), trades(t)))
	return statement.ExecuteUpdate(t.Context())
}

func ask(t *testing.T, connection adbc.Connection, sql string) string {
	t.Helper()
	reader, _, err := statementOf(t, connection, sql).ExecuteQuery(t.Context())
	check(t, err)
	return rows(t, collect(t, reader))
}

// failed runs a statement to its end, and returns the ADBC error.
func failed(t *testing.T, connection adbc.Connection, sql string) adbc.Error {
	t.Helper()
	reader, _, err := statementOf(t, connection, sql).ExecuteQuery(t.Context())
	if err == nil {
		for reader.Next() {
		}
		err = reader.Err()
	}
	return errorOf(t, err)
}

func errorOf(t *testing.T, err error) adbc.Error {
	t.Helper()
	var failure adbc.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is not an error of ADBC", err)
	}
	return failure
}

func TestAdbcAnswersRows(t *testing.T) {
	connection := open(t, nil)
	equal(t,
		ask(t, connection, "SELECT symbol, price * 2 AS twice FROM go_trades WHERE id < 3 ORDER BY id"),
		`{"symbol":"BTC","twice":128501}`+"\n"+`{"symbol":"ETH","twice":6240.5}`)
	reader, _, err := statementOf(t, connection, "SELECT * FROM go_trades WHERE false").ExecuteQuery(t.Context())
	check(t, err)
	none := collect(t, reader)
	sameColumns(t, none.Schema(), tradeSchema)
	equal(t, none.NumRows(), int64(0))
}

func TestFlightAndAdbcAnswerEveryTypeAsItWasPut(t *testing.T) {
	connection, client := open(t, nil), connect(t)
	for _, one := range columnCases {
		t.Run(one.name, func(t *testing.T) {
			put(t, client, "go-v", one.sentBatch(t))
			sameColumn(t, column(t, get(t, client, "go-v"), 1), one.keptColumn(t))
			if one.notInSQL {
				return
			}
			reader, _, err := statementOf(t, connection, `SELECT v FROM "go-v" ORDER BY i`).ExecuteQuery(t.Context())
			check(t, err)
			sameColumn(t, column(t, collect(t, reader), 0), one.keptColumn(t))
		})
	}
}

func TestAdbcAnswersAMillionRowsInSmallBatches(t *testing.T) {
	reader, _, err := statementOf(t, open(t, nil), "SELECT range AS i, range * 0.5 AS x FROM range(1000000)").ExecuteQuery(t.Context())
	check(t, err)
	defer reader.Release()
	count, sum := int64(0), int64(0)
	for reader.Next() {
		batch := reader.RecordBatch()
		count += batch.NumRows()
		if batch.NumRows() > 200_000 {
			t.Fatalf("a batch has %d rows", batch.NumRows())
		}
		for _, value := range batch.Column(0).(*array.Int64).Int64Values() {
			sum += value
		}
	}
	check(t, reader.Err())
	equal(t, []int64{count, sum}, []int64{1_000_000, 499_999_500_000})
}

func TestAdbcBindsParametersOfEveryKind(t *testing.T) {
	connection := open(t, nil)
	for _, one := range []struct {
		kind  arrow.DataType
		value string
		sql   string
	}{
		{arrow.BinaryTypes.String, `null`, "SELECT ? IS NULL AS same"},
		{arrow.FixedWidthTypes.Boolean, `true`, "SELECT ? = true AS same"},
		{arrow.PrimitiveTypes.Int64, `9007199254740993`, "SELECT ? = 9007199254740993 AS same"},
		{arrow.PrimitiveTypes.Uint64, `18446744073709551615`, "SELECT ? = 18446744073709551615 AS same"},
		{arrow.PrimitiveTypes.Float64, `1.5`, "SELECT ? = 1.5 AS same"},
		{arrow.PrimitiveTypes.Float64, `"NaN"`, "SELECT isnan(?::DOUBLE) AS same"},
		{arrow.BinaryTypes.String, `"ü'; DROP"`, "SELECT ? = 'ü''; DROP' AS same"},
		{arrow.BinaryTypes.LargeString, `""`, "SELECT ? = '' AS same"},
		{arrow.BinaryTypes.Binary, `"AP8="`, `SELECT ? = '\x00\xFF'::BLOB AS same`},
		{decimal128(10, 2), `"-1.10"`, "SELECT ? = -1.10 AS same"},
		{arrow.FixedWidthTypes.Date32, `19724`, "SELECT ? = DATE '2024-01-02' AS same"},
		{us, `1704164645678901`, "SELECT ? = TIMESTAMP '2024-01-02 03:04:05.678901' AS same"},
		{timestamp(arrow.Nanosecond, "UTC"), `1704164645678901000`, "SELECT ? = TIMESTAMPTZ '2024-01-02 03:04:05.678901+00' AS same"},
		{arrow.FixedWidthTypes.Time64us, `11045678901`, "SELECT ? = TIME '03:04:05.678901' AS same"},
	} {
		t.Run(one.kind.String()+" "+one.value, func(t *testing.T) {
			statement := statementOf(t, connection, one.sql)
			check(t, statement.Prepare(t.Context()))
			check(t, statement.Bind(t.Context(), batchOf(t, arrow.NewSchema([]arrow.Field{nullable("1", one.kind)}, nil), `[{"1": `+one.value+`}]`)))
			reader, _, err := statement.ExecuteQuery(t.Context())
			check(t, err)
			equal(t, rows(t, collect(t, reader)), `{"same":true}`)
		})
	}
}

func TestAdbcBindsUnionsWhoseValuesHaveOneType(t *testing.T) {
	connection := open(t, nil)
	members := []arrow.Field{nullable("number", arrow.PrimitiveTypes.Int64), nullable("text", arrow.BinaryTypes.String)}
	codes := []arrow.UnionTypeCode{0, 1}
	for _, kind := range []arrow.DataType{arrow.DenseUnionOf(members, codes), arrow.SparseUnionOf(members, codes)} {
		bound := func(t *testing.T, sql, rows string) adbc.Statement {
			statement := statementOf(t, connection, sql)
			check(t, statement.Prepare(t.Context()))
			check(t, statement.Bind(t.Context(), batchOf(t, arrow.NewSchema([]arrow.Field{nullable("1", kind)}, nil), rows)))
			return statement
		}
		t.Run(kind.Name(), func(t *testing.T) {
			for sql, row := range map[string]string{
				"SELECT ? = 9007199254740993 AS same": `[{"1": [0, 9007199254740993]}]`,
				"SELECT ? = 'a' AS same":              `[{"1": [1, "a"]}]`,
			} {
				reader, _, err := bound(t, sql, row).ExecuteQuery(t.Context())
				check(t, err)
				equal(t, rows(t, collect(t, reader)), `{"same":true}`)
			}
			_, err := statementOf(t, connection, "CREATE OR REPLACE TABLE go_union (name TEXT)").ExecuteUpdate(t.Context())
			check(t, err)
			insert := "INSERT INTO go_union VALUES (?)"
			count, err := bound(t, insert, `[{"1": [1, "a"]}, {"1": [1, "b"]}]`).ExecuteUpdate(t.Context())
			check(t, err)
			equal(t, count, int64(2))
			_, err = bound(t, insert, `[{"1": [1, "c"]}, {"1": [0, 1]}]`).ExecuteUpdate(t.Context())
			failure := errorOf(t, err)
			equal(t, failure.Code, adbc.StatusInvalidArgument)
			equal(t, strings.Contains(failure.Msg, "has values of several types"), true)
			equal(t, ask(t, connection, "SELECT string_agg(name, '' ORDER BY name) AS names FROM go_union"), `{"names":"ab"}`)
		})
	}
}

func TestAdbcKnowsTheTypesOfParameters(t *testing.T) {
	statement := statementOf(t, open(t, nil), "SELECT * FROM go_trades WHERE id = ? AND symbol = ?")
	check(t, statement.Prepare(t.Context()))
	schema, err := statement.GetParameterSchema()
	check(t, err)
	equal(t, []string{schema.Field(0).Type.String(), schema.Field(1).Type.String()}, []string{"int64", "utf8"})
	answered, err := statement.(adbc.StatementExecuteSchema).ExecuteSchema(t.Context())
	check(t, err)
	sameColumns(t, answered, tradeSchema)
}

func TestAdbcIngestCreatesAppendsAndReplaces(t *testing.T) {
	connection := open(t, nil)
	_, err := statementOf(t, connection, "DROP TABLE IF EXISTS go_kept").ExecuteUpdate(t.Context())
	check(t, err)
	for _, one := range []struct {
		mode   string
		status adbc.Status
		rows   string
	}{
		{adbc.OptionValueIngestModeAppend, adbc.StatusNotFound, ""},
		{adbc.OptionValueIngestModeCreate, adbc.StatusOK, "3"},
		{adbc.OptionValueIngestModeCreate, adbc.StatusAlreadyExists, "3"},
		{adbc.OptionValueIngestModeAppend, adbc.StatusOK, "6"},
		{adbc.OptionValueIngestModeCreateAppend, adbc.StatusOK, "9"},
		{adbc.OptionValueIngestModeReplace, adbc.StatusOK, "3"},
	} {
		count, err := ingest(t, connection, "go_kept", one.mode)
		if one.status != adbc.StatusOK {
			equal(t, errorOf(t, err).Code, one.status)
		} else {
			check(t, err)
			equal(t, count, int64(3))
		}
		if one.rows != "" {
			equal(t, ask(t, connection, "SELECT count(*) AS n FROM go_kept"), `{"n":`+one.rows+`}`)
		}
	}
}

func TestAdbcUpdatesTellHowManyRowsTheyKept(t *testing.T) {
	connection := open(t, nil)
	kept, err := statementOf(t, connection, "CREATE OR REPLACE TABLE go_kept AS SELECT id FROM go_trades").ExecuteUpdate(t.Context())
	check(t, err)
	equal(t, kept, int64(3))
	_, err = statementOf(t, connection, "DROP TABLE go_kept").ExecuteUpdate(t.Context())
	check(t, err)
	_, err = statementOf(t, connection, "DROP TABLE go_kept").ExecuteUpdate(t.Context())
	equal(t, errorOf(t, err).Code, adbc.StatusNotFound)
}

func TestAdbcErrorsHaveTheRightStatusAndMessage(t *testing.T) {
	connection := open(t, nil)
	for _, one := range []struct {
		sql    string
		status adbc.Status
		part   string
	}{
		{"SELECT * FROM nope", adbc.StatusInvalidArgument, `There is no frame "nope".`},
		{"SELEC 1", adbc.StatusInvalidArgument, "SELEC"},
		{"SELECT 'x'::INT", adbc.StatusInvalidArgument, "Could not convert string 'x'"},
		{"SELECT ? AS a", adbc.StatusInvalidArgument, "1 parameter,"},
		{"SELECT * FROM read_csv('/etc/passwd')", adbc.StatusUnauthorized, "read_csv"},
		{"DELETE FROM go_trades", adbc.StatusUnauthorized, "DELETE"},
	} {
		t.Run(one.sql, func(t *testing.T) {
			failure := failed(t, connection, one.sql)
			equal(t, failure.Code, one.status)
			if !strings.Contains(failure.Msg, one.part) {
				t.Fatalf("%q does not say %q", failure.Msg, one.part)
			}
		})
	}
}

func TestAdbcCancelsByTheContext(t *testing.T) {
	until, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader, _, err := statementOf(t, open(t, nil), "SELECT * FROM range(1000000000)").ExecuteQuery(until)
	check(t, err)
	defer reader.Release()
	equal(t, reader.Next(), true)
	cancel()
	for reader.Next() {
	}
	equal(t, errorOf(t, reader.Err()).Code, adbc.StatusCancelled)
}

func TestAdbcTimesOut(t *testing.T) {
	connection := open(t, map[string]string{driver.OptionTimeoutFetch: "0.3"})
	equal(t, failed(t, connection, "SELECT * FROM range(1000000000)").Code, adbc.StatusTimeout)
}

func TestAdbcDescribesTheServer(t *testing.T) {
	connection := open(t, map[string]string{adbc.OptionKeyUsername: "any", adbc.OptionKeyPassword: "thing"})
	codes := []adbc.InfoCode{adbc.InfoVendorName, adbc.InfoVendorSql, adbc.InfoVendorSubstrait}
	reader, err := connection.GetInfo(t.Context(), codes)
	check(t, err)
	equal(t, rows(t, collect(t, reader)),
		`{"info_name":0,"info_value":[0,"Data-frame server (DuckDB)"]}`+"\n"+
			`{"info_name":3,"info_value":[1,true]}`+"\n"+
			`{"info_name":4,"info_value":[1,false]}`)
	reader, err = connection.GetTableTypes(t.Context())
	check(t, err)
	equal(t, rows(t, collect(t, reader)), `{"table_type":"table"}`)
	schema, err := connection.GetTableSchema(t.Context(), nil, nil, "go_trades")
	check(t, err)
	sameColumns(t, schema, tradeSchema)
	_, err = connection.GetTableSchema(t.Context(), nil, nil, "nope")
	equal(t, errorOf(t, err).Code, adbc.StatusNotFound)
	_, err = connection.(adbc.GetSetOptions).GetOption(adbc.OptionKeyCurrentCatalog)
	check(t, err)
	err = connection.(adbc.PostInitOptions).SetOption(adbc.OptionKeyAutoCommit, adbc.OptionValueDisabled)
	equal(t, errorOf(t, err).Code, adbc.StatusNotImplemented)
}

func TestAdbcListsTablesWithTheirColumns(t *testing.T) {
	connection := open(t, nil)
	table, column := "go\\_trades", "%"
	for depth, part := range map[adbc.ObjectDepth]string{
		adbc.ObjectDepthCatalogs:  `"catalog_name":"memory"`,
		adbc.ObjectDepthDBSchemas: `"db_schema_name":"main"`,
		adbc.ObjectDepthTables:    `"table_name":"go_trades"`,
		adbc.ObjectDepthColumns:   `"column_name":"symbol"`,
	} {
		reader, err := connection.GetObjects(t.Context(), depth, nil, nil, &table, &column, []string{"TABLE"})
		check(t, err)
		objects := rows(t, collect(t, reader))
		if !strings.Contains(objects, part) {
			t.Fatalf("%s has no %s", objects, part)
		}
	}
}
