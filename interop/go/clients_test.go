package interop

import (
	"database/sql"
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
)

// A clientRow is what works with a client: a row of the table in docs/clients.md.
type clientRow struct {
	Client  string   `json:"client"`
	Version string   `json:"version"`
	Through string   `json:"through"`
	Works   []string `json:"works"`
	Lacks   []string `json:"lacks"`
}

const adbcModule = "github.com/apache/arrow-adbc/go/adbc"
const arrowModule = "github.com/apache/arrow-go/v18"

var clientRows = []*clientRow{
	{"ADBC for Go", versionOf(adbcModule), "", []string{}, []string{}},
	{"Go `database/sql`", versionOf(adbcModule), "the `sqldriver` of ADBC", []string{}, []string{}},
	{"arrow-go Flight SQL", versionOf(arrowModule), "", []string{}, []string{}},
}

var adbcRow, databaseRow, arrowRow = clientRows[0], clientRows[1], clientRows[2]

// versionOf reads go.mod: a test binary has no build info.
func versionOf(module string) string {
	file, err := os.ReadFile("go.mod")
	if err != nil {
		panic(err)
	}
	return string(regexp.MustCompile(regexp.QuoteMeta(module) + ` v(\S+)`).FindSubmatch(file)[1])
}

// works adds a line to a row, if the test passes.
func works(t *testing.T, row *clientRow, what string, test func(t *testing.T)) {
	if t.Run(what, test) {
		row.Works = append(row.Works, what)
	}
}

// lacks adds a line to a row, if the test passes.
func lacks(t *testing.T, row *clientRow, what string, test func(t *testing.T)) {
	if t.Run(what, test) {
		row.Lacks = append(row.Lacks, what)
	}
}

// writeClients writes the rows to the file that the runner names.
func writeClients() error {
	text, err := json.Marshal(clientRows)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Getenv("SVC_CLIENTS"), text, 0o600)
}

func TestClientAdbc(t *testing.T) {
	connection := open(t, nil)
	update := func(t *testing.T, query string) int64 {
		count, err := statementOf(t, connection, query).ExecuteUpdate(t.Context())
		check(t, err)
		return count
	}
	works(t, adbcRow, "queries, `CREATE TABLE`, `INSERT`, `ALTER TABLE … RENAME TO`, `DROP TABLE`", func(t *testing.T) {
		update(t, "CREATE OR REPLACE TABLE go_c (id BIGINT, name TEXT)")
		equal(t, update(t, "INSERT INTO go_c VALUES (1, 'a'), (2, NULL)"), int64(2))
		equal(t, ask(t, connection, "SELECT count(*) AS n FROM go_c"), `{"n":2}`)
		update(t, "DROP TABLE IF EXISTS go_d")
		update(t, "ALTER TABLE go_c RENAME TO go_d")
		equal(t, ask(t, connection, "SELECT count(*) AS n FROM go_d"), `{"n":2}`)
		update(t, "DROP TABLE go_d")
	})
	works(t, adbcRow, "parameters of every type, dense and sparse unions among them; bulk ingest, metadata, cancellation", func(t *testing.T) {
		TestAdbcBindsParametersOfEveryKind(t)
		TestAdbcBindsUnionsWhoseValuesHaveOneType(t)
		TestAdbcIngestCreatesAppendsAndReplaces(t)
		TestAdbcListsTablesWithTheirColumns(t)
		TestAdbcCancelsByTheContext(t)
	})
	lacks(t, adbcRow, "transactions: each statement is committed by itself", func(t *testing.T) {
		options, isOptions := connection.(adbc.PostInitOptions)
		equal(t, isOptions, true)
		if options.SetOption(adbc.OptionKeyAutoCommit, adbc.OptionValueDisabled) == nil {
			t.Error("There are transactions.")
		}
	})
}

func TestClientDatabaseSql(t *testing.T) {
	database := openDatabase(t)
	works(t, databaseRow, "queries, `Scan`, prepared parameters", func(t *testing.T) {
		TestDatabaseSqlScansRows(t)
		TestDatabaseSqlBindsAndPrepares(t)
	})
	works(t, databaseRow, "`CREATE TABLE`, a prepared `INSERT`, `DROP TABLE`", func(t *testing.T) {
		_, err := database.ExecContext(t.Context(), "CREATE OR REPLACE TABLE go_d (id BIGINT, name TEXT, price DOUBLE)")
		check(t, err)
		insert, err := database.PrepareContext(t.Context(), "INSERT INTO go_d VALUES (?, ?, ?)")
		check(t, err)
		defer insert.Close()
		for id := range int64(3) {
			result, err := insert.ExecContext(t.Context(), id, "n", 1.5)
			check(t, err)
			count, err := result.RowsAffected()
			check(t, err)
			equal(t, count, int64(1))
		}
		var count int64
		var sum sql.NullFloat64
		check(t, database.QueryRowContext(t.Context(), "SELECT count(*), sum(price) FROM go_d").Scan(&count, &sum))
		equal(t, []any{count, sum.Float64}, []any{int64(3), 4.5})
		_, err = database.ExecContext(t.Context(), "DROP TABLE go_d")
		check(t, err)
	})
	lacks(t, databaseRow, "`time.Time` as a parameter: bind a string and cast it", TestDatabaseSqlBindsMomentsAsTexts)
	lacks(t, databaseRow, "transactions", func(t *testing.T) {
		if transaction, err := database.BeginTx(t.Context(), nil); err == nil {
			_ = transaction.Rollback()
			t.Error("There are transactions.")
		}
	})
}

func TestClientArrow(t *testing.T) {
	client := connect(t)
	works(t, arrowRow, "statements, prepared statements, updates", func(t *testing.T) {
		count, err := client.ExecuteUpdate(t.Context(), "CREATE OR REPLACE TABLE go_a AS FROM range(3)")
		check(t, err)
		equal(t, count, int64(3))
		count, err = client.ExecuteUpdate(t.Context(), "INSERT INTO go_a FROM range(2)")
		check(t, err)
		equal(t, count, int64(2))
		prepared, err := client.Prepare(t.Context(), "SELECT count(*) FROM go_a")
		check(t, err)
		check(t, prepared.Close(t.Context()))
	})
	works(t, arrowRow, "metadata", func(t *testing.T) {
		info, err := client.GetTables(t.Context(), &flightsql.GetTablesOpts{IncludeSchema: true})
		check(t, err)
		equal(t, len(info.Endpoint), 1)
	})
}
