package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
)

var idSchema = arrow.NewSchema([]arrow.Field{nullable("id", arrow.PrimitiveTypes.Int64)}, nil)

func ids(t *testing.T) arrow.RecordBatch {
	t.Helper()
	return batchOf(t, idSchema, `[{"id": 1}, {"id": 2}, {"id": 3}]`)
}

func TestValuesOfEveryTypeComeBackAsTheyWentInCompressedOrNot(t *testing.T) {
	client := connect(t)
	const count = 2
	fields, columns := make([]arrow.Field, len(columnCases)), make([]arrow.Array, len(columnCases))
	for i, one := range columnCases {
		fields[i], columns[i] = nullable(one.name, one.sent), array.NewSlice(one.sentColumn(t), 0, count)
	}
	all := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, count)
	for compression, options := range map[string][]ipc.Option{"plain": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
		_, err := tryPut(t, client, pathOf("go-all"), []arrow.RecordBatch{all}, options...)
		check(t, err)
		back := get(t, client, "go-all")
		for i, one := range columnCases {
			t.Run(one.name+", "+compression, func(t *testing.T) {
				sameColumn(t, column(t, back, i), array.NewSlice(one.keptColumn(t), 0, count))
			})
		}
	}
}

func TestFramesOfEveryShapeComeBack(t *testing.T) {
	client := connect(t)
	wide := make([]arrow.Field, 1000)
	columns := make([]arrow.Array, len(wide))
	for i := range wide {
		wide[i] = nullable(fmt.Sprintf("c%d", i), arrow.PrimitiveTypes.Int32)
		columns[i] = arrayOf(t, arrow.PrimitiveTypes.Int32, fmt.Sprintf("[%d, null, -%d]", i, i))
	}
	for name, batches := range map[string][]arrow.RecordBatch{
		"no rows":      {batchOf(t, idSchema, `[]`)},
		"one row":      {batchOf(t, idSchema, `[{"id": 1}]`)},
		"many batches": slices.Repeat([]arrow.RecordBatch{ids(t)}, 1000),
		"1000 columns": {array.NewRecordBatch(arrow.NewSchema(wide, nil), columns, 3)},
		"a million":    {countTo(1_000_000)},
	} {
		t.Run(name, func(t *testing.T) {
			put(t, client, "go-shape", batches...)
			back, sent := get(t, client, "go-shape"), array.NewTableFromRecords(batches[0].Schema(), batches)
			equal(t, back.Schema().String(), sent.Schema().String())
			if !array.TableEqual(back, sent) {
				t.Fatal("the values are others")
			}
		})
	}
}

// countTo returns a batch of the numbers below a limit.
func countTo(limit int) arrow.RecordBatch {
	builder := array.NewInt64Builder(memory.DefaultAllocator)
	builder.Reserve(limit)
	for i := range limit {
		builder.UnsafeAppend(int64(i))
	}
	return array.NewRecordBatch(idSchema, []arrow.Array{builder.NewArray()}, int64(limit))
}

func TestAnInfoSaysWhatThereIsAndOnePlaceToReadIt(t *testing.T) {
	client := connect(t)
	version := put(t, client, "go-c", ids(t))
	info, err := client.Client.GetFlightInfo(t.Context(), pathOf("go-c"))
	check(t, err)
	equal(t, []any{info.TotalRecords, string(info.AppMetadata), info.Ordered}, []any{int64(3), version, true})
	equal(t, info.FlightDescriptor.Path, []string{"go-c"})
	equal(t, []int{len(info.Endpoint), len(info.Endpoint[0].Location)}, []int{1, 0})
	equal(t, info.Endpoint[0].ExpirationTime.AsTime().After(time.Now()), true)
	sameSchema(t, info.Schema, idSchema)
	answer, err := client.Client.GetSchema(t.Context(), pathOf("go-c"))
	check(t, err)
	sameSchema(t, answer.Schema, idSchema)
	poll, err := client.Client.PollFlightInfo(t.Context(), pathOf("go-c"))
	check(t, err)
	equal(t, []any{poll.GetProgress(), poll.FlightDescriptor == nil, poll.Info.TotalRecords}, []any{1.0, true, int64(3)})
}

func sameSchema(t *testing.T, encoded []byte, want *arrow.Schema) {
	t.Helper()
	equal(t, schemaOf(t, encoded).String(), want.String())
}

func schemaOf(t *testing.T, encoded []byte) *arrow.Schema {
	t.Helper()
	schema, err := flight.DeserializeSchema(encoded, memory.DefaultAllocator)
	check(t, err)
	return schema
}

// sameColumns compares columns of SQL, which have metadata of Flight SQL and no other.
func sameColumns(t *testing.T, schema, want *arrow.Schema) {
	t.Helper()
	var fields []arrow.Field
	for _, field := range schema.Fields() {
		metadata := flightsql.ColumnMetadata{Data: &field.Metadata}
		name, isNamed := metadata.TypeName()
		equal(t, isNamed && name != "", true)
		for _, key := range field.Metadata.Keys() {
			equal(t, strings.HasPrefix(key, "ARROW:FLIGHT:SQL:"), true)
		}
		field.Metadata = arrow.Metadata{}
		fields = append(fields, field)
	}
	equal(t, arrow.NewSchema(fields, nil).String(), want.String())
}

func TestFlightsAreListedByTheBeginningOfTheirNames(t *testing.T) {
	client := connect(t)
	for _, handle := range []string{"go-list-b", "go-list-a"} {
		put(t, client, handle, ids(t))
	}
	stream, err := client.Client.ListFlights(t.Context(), &flight.Criteria{Expression: []byte("go-list-")})
	check(t, err)
	var names []string
	for {
		info, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		check(t, err)
		names = append(names, info.FlightDescriptor.Path[0])
	}
	equal(t, names, []string{"go-list-a", "go-list-b"})
}

func TestBasicAuthenticationGivesATokenThatIsTaken(t *testing.T) {
	client := connect(t)
	withToken, err := client.Client.AuthenticateBasicToken(t.Context(), "any", "thing")
	check(t, err)
	put(t, client, "go-c", ids(t))
	info, err := client.Client.GetFlightInfo(withToken, pathOf("go-c"))
	check(t, err)
	equal(t, info.TotalRecords, int64(3))
}

func TestATicketCanBeRenewedAndAFlightThatDoesNotRunCannotBeCancelled(t *testing.T) {
	client := connect(t)
	put(t, client, "go-c", ids(t))
	info, err := client.Client.GetFlightInfo(t.Context(), pathOf("go-c"))
	check(t, err)
	endpoint, err := client.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: info.Endpoint[0]})
	check(t, err)
	reader, err := client.DoGet(t.Context(), endpoint.Ticket)
	check(t, err)
	equal(t, collect(t, reader).NumRows(), int64(3))
	result, err := client.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: info})
	check(t, err)
	equal(t, result.Status, flight.CancelStatusNotCancellable)
}

func TestFlightsThatAreRefusedSayWhy(t *testing.T) {
	client := connect(t)
	info := func(parts ...string) error {
		_, err := client.Client.GetFlightInfo(t.Context(), pathOf(parts...))
		return err
	}
	same := arrow.NewSchema([]arrow.Field{idSchema.Field(0), idSchema.Field(0)}, nil)
	column := ids(t).Column(0)
	for _, one := range []struct {
		name string
		err  error
		code codes.Code
		part string
	}{
		{"unknown", info("nope"), codes.NotFound, `There is no frame "nope"`},
		{"two parts", info("a", "b"), codes.InvalidArgument, `"a/b"`},
		{"bad handle", failedPut(t, client, "..", ids(t)), codes.InvalidArgument, "is not a valid handle"},
		{"same name", failedPut(t, client, "go-r", array.NewRecordBatch(same, []arrow.Array{column, column}, 3)), codes.InvalidArgument, `"id"`},
		{"forged ticket", failedRead(t, client, []byte("go-c")), codes.InvalidArgument, "ticket"},
		{"action", failedAction(t, client, "dance"), codes.Unimplemented, `"dance"`},
		{"exchange", failedExchange(t, client), codes.Unimplemented, "DoExchange"},
	} {
		t.Run(one.name, func(t *testing.T) { refused(t, one.err, one.code, one.part) })
	}
}

func failedPut(t *testing.T, client *flightsql.Client, handle string, batch arrow.RecordBatch) error {
	_, err := tryPut(t, client, pathOf(handle), []arrow.RecordBatch{batch})
	return err
}

func failedRead(t *testing.T, client *flightsql.Client, ticket []byte) error {
	_, err := client.DoGet(t.Context(), &flight.Ticket{Ticket: ticket})
	return err
}

func failedAction(t *testing.T, client *flightsql.Client, name string) error {
	stream, err := client.Client.DoAction(t.Context(), &flight.Action{Type: name})
	check(t, err)
	_, err = stream.Recv()
	return err
}

func failedExchange(t *testing.T, client *flightsql.Client) error {
	stream, err := client.Client.DoExchange(t.Context())
	check(t, err)
	check(t, stream.CloseSend())
	_, err = stream.Recv()
	return err
}

func TestAnUploadThatIsCancelledLeavesNothing(t *testing.T) {
	client := connect(t)
	until, cancel := context.WithCancel(t.Context())
	stream, err := client.Client.DoPut(until)
	check(t, err)
	writer := flight.NewRecordWriter(stream, ipc.WithSchema(idSchema))
	writer.SetFlightDescriptor(pathOf("go-half"))
	check(t, writer.Write(ids(t)))
	cancel()
	_, err = stream.Recv()
	refused(t, err, codes.Canceled, "")
	_, err = client.Client.GetFlightInfo(t.Context(), pathOf("go-half"))
	refused(t, err, codes.NotFound, `"go-half"`)
}

func TestReadersAtTheSameTimeGetTheSameBytes(t *testing.T) {
	client := connect(t)
	put(t, client, "go-many", countTo(100_000))
	sums := make(chan []byte, 8)
	for range cap(sums) {
		go func() { sums <- bytesOf(t, client, "go-many") }()
	}
	first := <-sums
	for range cap(sums) - 1 {
		if !bytes.Equal(<-sums, first) {
			t.Error("a reader got other bytes")
		}
	}
}

// bytesOf reads the bodies of a frame as they are on the wire; nil if that fails.
func bytesOf(t *testing.T, client *flightsql.Client, handle string) []byte {
	info, err := client.Client.GetFlightInfo(t.Context(), pathOf(handle))
	if err != nil {
		t.Error(err)
		return nil
	}
	stream, err := client.Client.DoGet(t.Context(), info.Endpoint[0].Ticket)
	var all []byte
	for err == nil {
		var data *flight.FlightData
		data, err = stream.Recv()
		all = append(all, data.GetDataBody()...)
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	return all
}
