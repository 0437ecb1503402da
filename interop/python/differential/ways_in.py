"""Every way into the server: how a case is put, and what the server then stores."""

import io
import itertools
import urllib.parse
from typing import Callable, NamedTuple

import grpc
import pyarrow as pa
import pyarrow.flight as fl
import pyarrow.parquet as pq
import pyarrow.types as is_type

from kept import kept_schema

from . import forms, texts
from .own_server import Refused
from .random_tables import Case, NotWritten
from .rebuild import kinds_in

STREAM = "application/vnd.apache.arrow.stream"
FILE = "application/vnd.apache.arrow.file"
PARQUET = "application/vnd.apache.parquet"


class WayIn(NamedTuple):
    #: Puts a case under a handle; raises `Refused`, or `NotWritten`.
    put: Callable
    #: Returns what the server then stores: `Expected`.
    expected: Callable
    #: Whether a column can be sent in this way.
    takes: Callable = lambda field, column: True


class Expected(NamedTuple):
    """The expected content of a frame."""

    #: None if the way in does not determine it.
    schema: pa.Schema | None
    names: list
    arrays: list


def kept_case(case):
    return Expected(kept_schema(case.schema), case.schema.names, kept_arrays(case))


def kept_arrays(case):
    return [forms.kept(column) for column in case.table.columns]


def kept_values(case):
    return Expected(None, case.schema.names, kept_arrays(case))


def body_of(case, new_writer, **options):
    sink = io.BytesIO()
    try:
        with new_writer(sink, case.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            for batch in case.batches:
                writer.write_batch(batch)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        # An Arrow file has one dictionary for each column.
        raise NotWritten(str(error)) from None
    return sink.getvalue()


def arrow_over_http(content_type, new_writer, **options):
    def put(server, handle, case):
        body = body_of(case, new_writer, **options)
        server.send("PUT", f"/frames/{handle}", body, {"Content-Type": content_type})

    return WayIn(put, kept_case)


def put_by_flight(server, handle, case):
    try:
        writer, reader = server.flight.do_put(fl.FlightDescriptor.for_path(handle), case.schema)
        with writer:
            for batch in case.batches:
                writer.write_batch(batch)
            writer.done_writing()
            reader.read()
    except pa.ArrowException as error:
        raise Refused(type(error).__name__, str(error)) from None


def empty_batch(schema):
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def put_by_adbc(server, handle, case):
    # Without batches the driver sends nothing at all, not even the handle.
    batches = case.batches or [empty_batch(case.schema)]
    reader = pa.RecordBatchReader.from_batches(case.schema, batches)
    with server.adbc.cursor() as cursor:
        try:
            cursor.adbc_ingest(handle, reader, mode="replace")
        except Exception as error:
            raise Refused(type(error).__name__, str(error)) from None


def is_whole_for_adbc(field, column):
    """The driver drops the metadata of fields inside a map, and with it the UUID type."""
    return not any(is_type.is_map(kind) and pa.uuid() in kinds_in(kind) for kind in kinds_in(field.type))


def put_by_frame_service(server, handle, case):
    body = body_of(case, pa.ipc.new_stream)
    pieces = [{"chunk": body[start : start + 1_000_000]} for start in range(0, len(body), 1_000_000)]
    try:
        server.frames.call("PutFrame", [{"target": {"handle": handle}}, *pieces])
    except grpc.RpcError as error:
        raise Refused(error.code().name, error.details()) from None


def parquet_over_http(**options):
    """
    A Parquet file has its own types, and may contain the Arrow schema that it was written from: the server must store
    what pyarrow reads.
    """

    # Without the Arrow schema, names inside a struct are those of DuckDB.
    names_of = list if options.get("store_schema", True) else forms.apart

    def put(server, handle, case):
        server.send("PUT", f"/frames/{handle}", parquet_of(case, **options), {"Content-Type": PARQUET})

    def expected(case):
        body = parquet_of(case, **options)
        columns = pq.read_table(io.BytesIO(body)).columns
        return Expected(None, case.schema.names, [forms.of_parquet(column, names_of) for column in columns])

    return WayIn(put, expected)


def parquet_of(case, **options):
    sink = io.BytesIO()
    try:
        pq.write_table(case.table, sink, **options)
        # pyarrow cannot read some of its own files: those with null structs that contain fixed-size lists.
        pq.read_table(sink)
    except (pa.ArrowException, OSError) as error:
        raise NotWritten(str(error)) from None
    return sink.getvalue()


def rows_over_http(content_type, write, takes):
    def put(server, handle, case):
        server.send("PUT", f"/frames/{handle}", write(case).encode(), {"Content-Type": content_type})

    return WayIn(put, kept_values, takes)


def numbered(case):
    """A case with one more column: a single null would be an empty line, which has no meaning in CSV."""
    starts = itertools.accumulate((batch.num_rows for batch in case.batches), initial=0)
    batches = [
        batch.append_column("row number", pa.array(range(start, start + batch.num_rows), pa.int64()))
        for start, batch in zip(starts, case.batches)
    ]
    return Case(case.name, case.schema.append(pa.field("row number", pa.int64())), batches)


def put_csv(server, handle, case):
    case = numbered(case)
    columns = ",".join(texts.quoted(f"{field.name}:{texts.csv_type(field.type)}") for field in case.schema)
    query = urllib.parse.urlencode({"columns": columns, "header": "true"})
    server.send("PUT", f"/frames/{handle}?{query}", texts.csv_of(case).encode(), {"Content-Type": "text/csv"})


WAYS_IN = {
    "HTTP stream": arrow_over_http(STREAM, pa.ipc.new_stream),
    "HTTP stream, LZ4": arrow_over_http(STREAM, pa.ipc.new_stream, compression="lz4"),
    "HTTP stream, ZSTD, deltas": arrow_over_http(
        STREAM, pa.ipc.new_stream, compression="zstd", emit_dictionary_deltas=True
    ),
    "HTTP file": arrow_over_http(FILE, pa.ipc.new_file, unify_dictionaries=True),
    "HTTP file, LZ4": arrow_over_http(FILE, pa.ipc.new_file, compression="lz4", unify_dictionaries=True),
    "HTTP file, ZSTD": arrow_over_http(FILE, pa.ipc.new_file, compression="zstd", unify_dictionaries=True),
    "Flight DoPut": WayIn(put_by_flight, kept_case),
    "ADBC ingest": WayIn(put_by_adbc, kept_case, is_whole_for_adbc),
    "FrameService.PutFrame": WayIn(put_by_frame_service, kept_case),
    "Parquet": parquet_over_http(),
    "Parquet, bare, pages v2": parquet_over_http(
        store_schema=False, data_page_version="2.0", use_dictionary=False, compression="zstd", row_group_size=1000
    ),
    "Parquet 2.4, small pages": parquet_over_http(version="2.4", data_page_size=512, row_group_size=7000),
    "JSON": rows_over_http("application/json", texts.json_of, texts.is_json),
    "NDJSON": rows_over_http("application/x-ndjson", texts.ndjson_of, texts.is_json),
    "CSV": WayIn(put_csv, lambda case: kept_values(numbered(case)), texts.is_csv),
}
