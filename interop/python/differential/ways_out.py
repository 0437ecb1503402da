"""Every way out of the server: how a frame is read, and how it is compared with the expected content."""

import io
import json
import re
import urllib.parse
from typing import Callable, NamedTuple

import pyarrow as pa
import pyarrow.flight as fl
import pyarrow.parquet as pq

from frame_service import read as read_chunks

from . import forms
from .python_values import Number, parser, python_values
from .ways_in import PARQUET


class Difference(NamedTuple):
    """A difference in one column, or in the whole response."""

    column: int | None
    what: str


class WayOut(NamedTuple):
    #: Reads a frame.
    read: Callable
    #: Compares the actual with the expected content, and yields differences.
    compare: Callable
    #: Whether values are compared one by one in Python, which is slow.
    is_text: bool = False


def compare_arrow(form=None, read_form=None, has_schema=False):
    """Compares tables: the stored arrays in the expected form with the arrays that were read."""

    def compare(table, expected):
        table.validate(full=True)
        if table.num_columns != len(expected.arrays):
            yield Difference(None, f"{table.num_columns} columns instead of {len(expected.arrays)}")
            return
        if has_schema and expected.schema is not None and not table.schema.equals(expected.schema, check_metadata=True):
            yield Difference(None, f"the schema\n{table.schema}\ninstead of\n{expected.schema}")
        if has_schema and table.column_names != expected.names:
            yield Difference(None, f"the columns {table.column_names} instead of {expected.names}")
        for i, array in enumerate(expected.arrays):
            got = read_form(table.column(i)) if read_form else table.column(i)
            what = array_difference(got, form(array) if form else array)
            if what is not None:
                yield Difference(i, what)

    return compare


def array_difference(got, wanted):
    """Returns the difference of two arrays, or None."""
    plain = forms.bits(got)
    if forms.plain_type(got.type) != forms.plain_type(wanted.type):
        return f"the type {got.type} instead of {wanted.type}"
    if len(plain) != len(wanted):
        return f"{len(plain)} rows instead of {len(wanted)}"
    bits = forms.bits(wanted)
    if plain.equals(bits):
        return None
    for i in range(len(bits)):
        if not plain.slice(i, 1).equals(bits.slice(i, 1)):
            return f"in row {i} {shown(got.slice(i, 1))} instead of {shown(wanted.slice(i, 1))}"
    return "unequal, but the same row by row"


def shown(array):
    try:
        return repr(array.to_pylist()[0])
    except (ValueError, OverflowError, pa.ArrowException):
        return re.sub(r"\s+", " ", str(array))


def compare_texts(rows_of, takes_nan=False):
    """Compares rows of JSON values or CSV texts."""

    def compare(answer, expected):
        names, rows = rows_of(answer, expected)
        if names != expected.names:
            yield Difference(None, f"the columns {names} instead of {expected.names}")
            return
        for i, array in enumerate(expected.arrays):
            wanted = python_values(array if takes_nan and not pa.types.is_nested(array.type) else finite(array))
            if len(rows) != len(wanted):
                yield Difference(None, f"{len(rows)} rows instead of {len(wanted)}")
                return
            read = parser(array.type)
            for n, (row, value) in enumerate(zip(rows, wanted)):
                got = read(row[i])
                if got != value:
                    yield Difference(i, f"in row {n} {row[i]!r}, which is {got!r} instead of {value!r}")
                    break

    return compare


def finite(array):
    """JSON has no NaN and no infinity: they are null."""
    return forms.rebuild(array, forms.finite_leaf)


def loads(text):
    return json.loads(text, parse_int=Number, parse_float=Number, object_pairs_hook=lambda pairs: pairs)


def json_rows(answer, expected):
    table = dict(loads(answer))
    return [dict(column)["name"] for column in table["columns"]], table["dataset"]


def ndjson_rows(answer, expected):
    rows = [loads(line) for line in answer.decode().split("\n")[:-1]]
    names = [name for name, _ in rows[0]] if rows else expected.names
    return names, [[value for _, value in row] for row in rows]


def csv_rows(answer, expected):
    header, *rows = csv_records(answer.decode())
    is_nested = [pa.types.is_nested(array.type) for array in expected.arrays]
    typed = [
        [loads(text) if nested and text is not None else text for nested, text in zip(is_nested, row)] for row in rows
    ]
    return header, typed


def csv_records(text):
    """The records of a CSV text; an unquoted empty field is None, not an empty text."""
    records, record = [], []
    pattern = re.compile(r'(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)')
    position = 0
    while position < len(text):
        match = pattern.match(text, position)
        assert match is not None, f"no CSV at {text[position : position + 50]!r}"
        in_quotes, plain, separator = match.groups()
        record.append(plain or None if in_quotes is None else in_quotes.replace('""', '"'))
        position = match.end()
        if separator != ",":
            records.append(record)
            record = []
    return records


def read_exp(fmt):
    def read(server, handle):
        return server.send("GET", f"/exp?{urllib.parse.urlencode({'handle': handle, 'fmt': fmt})}")

    return read


def read_arrow(server, handle):
    return pa.ipc.open_stream(read_exp("arrow")(server, handle)).read_all()


def read_json(server, handle):
    return server.send("GET", f"/exec?handle={handle}&fmt=json&limit=1000000")


def read_by_frame_service(server, handle):
    return read_chunks(server.frames.call("GetFrame", {"handle": handle})[1:])


def read_by_flight(server, handle):
    info = server.flight.get_flight_info(fl.FlightDescriptor.for_path(handle))
    return server.flight.do_get(info.endpoints[0].ticket).read_all()


def read_sql(server, handle):
    query = urllib.parse.urlencode({"query": f'select * from "{handle}"', "engine": "local", "fmt": "arrow"})
    return pa.ipc.open_stream(server.send("GET", f"/exp?{query}")).read_all()


def read_by_adbc(server, handle):
    with server.adbc.cursor() as cursor:
        cursor.execute(f'SELECT * FROM "{handle}"')
        return cursor.fetch_arrow_table()


def read_parquet(server, handle):
    return pq.read_table(io.BytesIO(read_exp("parquet")(server, handle)))


def read_stored_file(server, handle):
    (path,) = server.stored_files(handle)
    return pq.read_table(io.BytesIO(path.read_bytes()))


def read_put_again(server, handle):
    body = read_exp("parquet")(server, handle)
    server.send("PUT", "/frames/again", body, {"Content-Type": PARQUET})
    return read_arrow(server, "again")


WAYS_OUT = {
    "HTTP Arrow": WayOut(read_arrow, compare_arrow(has_schema=True)),
    "Flight DoGet": WayOut(read_by_flight, compare_arrow(has_schema=True)),
    "FrameService.GetFrame": WayOut(read_by_frame_service, compare_arrow(has_schema=True)),
    "Parquet, put again": WayOut(read_put_again, compare_arrow(has_schema=True)),
    "JSON": WayOut(read_json, compare_texts(json_rows), is_text=True),
    "NDJSON": WayOut(read_exp("ndjson"), compare_texts(ndjson_rows), is_text=True),
    "CSV": WayOut(read_exp("csv"), compare_texts(csv_rows, takes_nan=True), is_text=True),
    "SQL over HTTP": WayOut(read_sql, compare_arrow(forms.sql, forms.sql)),
    "SQL by ADBC": WayOut(read_by_adbc, compare_arrow(forms.sql, forms.sql)),
    "Parquet": WayOut(read_parquet, compare_arrow(forms.parquet)),
    "the stored file": WayOut(read_stored_file, compare_arrow(forms.parquet)),
}
