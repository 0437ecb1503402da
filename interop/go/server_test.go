// Package interop runs the Go clients of Arrow Flight and Flight SQL against a running server.
package interop

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// address is the address of the server under test.
var address = os.Getenv("SVC_GRPC")

func TestMain(m *testing.M) {
	if address == "" {
		fmt.Fprintln(os.Stderr, "SVC_GRPC does not say where the server is: run interop/go/run.js.")
		os.Exit(1)
	}
	code := m.Run()
	if err := writeClients(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// connect returns a Flight SQL client, which contains a Flight client.
func connect(t *testing.T) *flightsql.Client {
	t.Helper()
	client, err := flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func pathOf(parts ...string) *flight.FlightDescriptor {
	return &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: parts}
}

// put creates or replaces a frame, and returns its version.
func put(t *testing.T, client *flightsql.Client, handle string, batches ...arrow.RecordBatch) string {
	t.Helper()
	version, err := tryPut(t, client, pathOf(handle), batches)
	check(t, err)
	return version
}

func tryPut(
	t *testing.T, client *flightsql.Client, descriptor *flight.FlightDescriptor, batches []arrow.RecordBatch, options ...ipc.Option,
) (string, error) {
	stream, err := client.Client.DoPut(t.Context())
	if err != nil {
		return "", err
	}
	writer := flight.NewRecordWriter(stream, append(options, ipc.WithSchema(batches[0].Schema()))...)
	writer.SetFlightDescriptor(descriptor)
	for _, batch := range batches {
		if writer.Write(batch) != nil {
			break
		}
	}
	// If the server has ended the stream, each write fails with EOF. Why it did is found by reading the stream.
	if err := writer.Close(); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if err := stream.CloseSend(); err != nil {
		return "", err
	}
	version := ""
	for {
		result, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return version, nil
		}
		if err != nil {
			return "", err
		}
		version += string(result.AppMetadata)
	}
}

// get reads a frame.
func get(t *testing.T, client *flightsql.Client, handle string) arrow.Table {
	t.Helper()
	info, err := client.Client.GetFlightInfo(t.Context(), pathOf(handle))
	return read(t, client, info, err)
}

// read reads the only endpoint of a FlightInfo.
func read(t *testing.T, client *flightsql.Client, info *flight.FlightInfo, err error) arrow.Table {
	t.Helper()
	check(t, err)
	equal(t, len(info.Endpoint), 1)
	reader, err := client.DoGet(t.Context(), info.Endpoint[0].Ticket)
	check(t, err)
	return collect(t, reader)
}

// collect reads a reader to its end.
func collect(t *testing.T, reader array.RecordReader) arrow.Table {
	t.Helper()
	defer reader.Release()
	var batches []arrow.RecordBatch
	for reader.Next() {
		batch := reader.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
	}
	check(t, reader.Err())
	return array.NewTableFromRecords(reader.Schema(), batches)
}

// column returns a column in one chunk.
func column(t *testing.T, table arrow.Table, index int) arrow.Array {
	t.Helper()
	chunks := table.Column(index).Data().Chunks()
	if len(chunks) == 0 {
		return array.MakeArrayOfNull(memory.DefaultAllocator, table.Schema().Field(index).Type, 0)
	}
	whole, err := array.Concatenate(chunks, memory.DefaultAllocator)
	check(t, err)
	return whole
}

// rows returns the rows of a table as JSON, one per line.
func rows(t *testing.T, table arrow.Table) string {
	t.Helper()
	reader := array.NewTableReader(table, -1)
	defer reader.Release()
	var text strings.Builder
	for reader.Next() {
		check(t, array.RecordToJSON(reader.RecordBatch(), &text))
	}
	return strings.TrimSpace(text.String())
}

// batchOf returns a batch of rows that are given as JSON.
func batchOf(t *testing.T, schema *arrow.Schema, json string) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json))
	check(t, err)
	return batch
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%v is not %v", got, want)
	}
}

// refused checks the status of an error and a part of its message.
func refused(t *testing.T, err error, code codes.Code, part string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(err.Error(), part) {
		t.Fatalf("%v is not %v with %q", err, code, part)
	}
}
