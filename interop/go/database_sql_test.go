package interop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-adbc/go/adbc"
	driver "github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-adbc/go/adbc/sqldriver"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func init() {
	sql.Register("flightsql", sqldriver.Driver{Driver: driver.NewDriver(memory.DefaultAllocator)})
}

func openDatabase(t *testing.T) *sql.DB {
	t.Helper()
	put(t, connect(t), "go_trades", trades(t))
	database, err := sql.Open("flightsql", "uri=grpc://"+address)
	check(t, err)
	t.Cleanup(func() { _ = database.Close() })
	return database
}

func TestDatabaseSqlScansRows(t *testing.T) {
	answer, err := openDatabase(t).QueryContext(t.Context(), `SELECT id, symbol, price, "at", price IS NULL FROM go_trades ORDER BY id`)
	check(t, err)
	defer answer.Close()
	type trade struct {
		id      int64
		symbol  sql.NullString
		price   sql.NullFloat64
		at      sql.NullTime
		unknown bool
	}
	var got []trade
	for answer.Next() {
		var one trade
		check(t, answer.Scan(&one.id, &one.symbol, &one.price, &one.at, &one.unknown))
		got = append(got, one)
	}
	check(t, answer.Err())
	text := func(value string) sql.NullString { return sql.NullString{String: value, Valid: true} }
	number := func(value float64) sql.NullFloat64 { return sql.NullFloat64{Float64: value, Valid: true} }
	moment := func(micros int64) sql.NullTime { return sql.NullTime{Time: time.UnixMicro(micros).UTC(), Valid: true} }
	equal(t, got, []trade{
		{1, text("BTC"), number(64250.5), moment(0), false},
		{2, text("ETH"), number(3120.25), moment(1_000_001), false},
		{3, sql.NullString{}, sql.NullFloat64{}, sql.NullTime{}, true},
	})
}

func TestDatabaseSqlBindsAndPrepares(t *testing.T) {
	database := openDatabase(t)
	// Without Prepare the driver treats values as rows of a bulk ingest.
	statement, err := database.PrepareContext(t.Context(), "SELECT symbol FROM go_trades WHERE id = ? AND price > ?")
	check(t, err)
	defer statement.Close()
	var symbol string
	check(t, statement.QueryRowContext(t.Context(), int64(1), 5000.0).Scan(&symbol))
	equal(t, symbol, "BTC")
}

// The driver cannot bind times of day or timestamps in any form. A text keeps every digit.
func TestDatabaseSqlBindsMomentsAsTexts(t *testing.T) {
	database := openDatabase(t)
	moment := time.Date(2024, 1, 2, 3, 4, 5, 678_901_234, time.UTC)
	const refused = ""
	for _, one := range []struct {
		parameter string
		value     any
		text      string
	}{
		{"?::VARCHAR::TIMESTAMP_NS", "2024-01-02 03:04:05.678901234", "2024-01-02 03:04:05.678901234"},
		{"?::VARCHAR::TIMESTAMP", "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"},
		{"?::VARCHAR::TIMESTAMPTZ", "2024-01-02T04:04:05+01:00", "2024-01-02 03:04:05+00"},
		{"?::VARCHAR::TIME", "03:04:05.678901", "03:04:05.678901"},
		{"?::DATE", arrow.Date32FromTime(moment), "2024-01-02"},
		{"?::TIMESTAMP", moment, refused},
		{"?::TIMESTAMP", arrow.Timestamp(moment.UnixMilli()), refused},
		{"?::TIMESTAMP", arrow.Timestamp(moment.UnixMicro()), refused},
		{"?::TIME", moment, refused},
		{"?::TIME", arrow.Time32(11_045_678), refused},
		{"?::TIME", arrow.Time64(11_045_678_901), refused},
	} {
		t.Run(fmt.Sprintf("%s %T", one.parameter, one.value), func(t *testing.T) {
			statement, err := database.PrepareContext(t.Context(), "SELECT v::VARCHAR FROM (SELECT "+one.parameter+" AS v)")
			check(t, err)
			defer statement.Close()
			var text string
			err = statement.QueryRowContext(t.Context(), one.value).Scan(&text)
			equal(t, []any{text, err != nil}, []any{one.text, one.text == refused})
		})
	}
}

func TestDatabaseSqlUpdates(t *testing.T) {
	database := openDatabase(t)
	result, err := database.ExecContext(t.Context(), "CREATE OR REPLACE TABLE go_kept AS SELECT id FROM go_trades WHERE id > ?", int64(1))
	check(t, err)
	count, err := result.RowsAffected()
	check(t, err)
	equal(t, count, int64(2))
	_, err = database.ExecContext(t.Context(), "DROP TABLE go_kept")
	check(t, err)
}

func TestDatabaseSqlFails(t *testing.T) {
	database := openDatabase(t)
	var none int
	err := database.QueryRowContext(t.Context(), "SELECT id FROM go_trades WHERE false").Scan(&none)
	equal(t, errors.Is(err, sql.ErrNoRows), true)
	_, err = database.QueryContext(t.Context(), "SELECT * FROM nope")
	equal(t, errorOf(t, err).Code, adbc.StatusInvalidArgument)
	until, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	answer, err := database.QueryContext(until, "SELECT * FROM range(1000000000)")
	for err == nil && answer.Next() {
	}
	if err == nil {
		err = answer.Err()
	}
	// The client and the server both know the deadline, and either of them may be the first to end the query.
	var failure adbc.Error
	if !errors.Is(err, context.DeadlineExceeded) && !(errors.As(err, &failure) && failure.Code == adbc.StatusTimeout) {
		t.Fatalf("%v does not say that the deadline passed", err)
	}
}
