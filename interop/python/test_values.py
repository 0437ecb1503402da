"""Every type, put in every form of Arrow IPC, is read back in every format with the same values."""

import itertools
import unittest

import pyarrow as pa

from cases import CASES
from kept import kept_table
from server import FILE, STREAM, file_of, get, get_arrow, put, stream_of

FORMS = {
    f"{kind}, {compression or 'plain'}": (content_type, write, compression)
    for (kind, content_type, write), compression in itertools.product(
        [("stream", STREAM, stream_of), ("file", FILE, file_of)], [None, "lz4", "zstd"]
    )
}


def table_of(case):
    """The column of a case with a null after its values, and a column of row numbers."""
    column = pa.concat_arrays([case.column, pa.nulls(1, case.column.type)])
    field = pa.field("v", column.type, metadata=case.metadata)
    return pa.table([pa.array(range(len(column)), pa.int32()), column], schema=pa.schema([("i", pa.int32()), field]))


def csv_texts(case):
    texts = case.csv or [text.removeprefix('"').removesuffix('"') for text in case.json]
    # A date has no time in CSV.
    return [*(text.removesuffix("T00:00:00.000Z") if pa.types.is_date(case.column.type) else text for text in texts), ""]


def bits(column):
    """The values of a column in a form in which NaN equals itself, and times may exceed the range of Python."""
    if pa.types.is_temporal(column.type) and not pa.types.is_interval(column.type):
        integers = pa.int32() if column.type.bit_width == 32 else pa.int64()
        return [value for chunk in column.chunks for value in chunk.view(integers).to_pylist()]
    return [repr(value) for value in column.to_pylist()]


def check_kept(test, back, table):
    """Checks that the returned table is the stored form of the uploaded one, bit by bit."""
    kept = kept_table(table)
    test.assertTrue(back.schema.equals(kept.schema, check_metadata=True), f"{back.schema}\n\nis not\n\n{kept.schema}")
    for name in kept.column_names:
        with test.subTest(name):
            test.assertEqual(bits(back[name]), bits(kept[name]))


class EveryType(unittest.TestCase):
    maxDiff = 2000

    def each_case(self, check):
        for case in CASES:
            with self.subTest(case.name):
                check(case)

    def test_is_the_same_as_arrow_in_every_form_it_was_sent(self):
        for case, (form, (content_type, write, compression)) in itertools.product(CASES, FORMS.items()):
            with self.subTest(f"{case.name}, {form}"):
                table = table_of(case)
                put("v", write(table, compression), content_type)
                check_kept(self, get_arrow("v"), table)

    def test_is_the_documented_text_in_json(self):
        def check(case):
            put("v", stream_of(table_of(case)))
            rows = ",".join(f"[{i},{text}]" for i, text in enumerate([*case.json, "null"]))
            self.assertEqual(
                get("/exec", handle="v", fmt="json").decode(),
                '{"query":"handle:v","columns":[{"name":"i","type":"INT"},{"name":"v","type":"%s"}],' % case.type
                + f'"dataset":[{rows}],"count":{len(case.json) + 1}}}',
            )

        self.each_case(check)

    def test_is_the_documented_text_in_ndjson(self):
        def check(case):
            put("v", stream_of(table_of(case)))
            lines = [f'{{"i":{i},"v":{text}}}\n' for i, text in enumerate([*case.json, "null"])]
            self.assertEqual(get("/exp", handle="v", fmt="ndjson").decode(), "".join(lines))

        self.each_case(check)

    def test_is_the_documented_text_in_csv(self):
        def check(case):
            put("v", stream_of(table_of(case)))
            lines = [f"{i},{text}\r\n" for i, text in enumerate(csv_texts(case))]
            self.assertEqual(get("/exp", handle="v", fmt="csv").decode(), "i,v\r\n" + "".join(lines))

        self.each_case(check)

    def test_of_64_bits_and_more_is_quoted_where_that_is_asked_for(self):
        def check(case):
            put("v", stream_of(table_of(case)))
            is_large = case.type in ("LONG", "ULONG", "LONG128")
            texts = [f'"{text}"' if is_large else text for text in case.json]
            lines = [f'{{"i":{i},"v":{text}}}\n' for i, text in enumerate([*texts, "null"])]
            self.assertEqual(get("/exp", handle="v", fmt="ndjson", quoteLargeNum="true").decode(), "".join(lines))

        for case in CASES:
            # A nested value contains large numbers.
            if not pa.types.is_nested(case.column.type):
                with self.subTest(case.name):
                    check(case)

    def test_goes_in_and_out_in_one_frame(self):
        rows = max(len(case.column) for case in CASES)
        columns = [
            pa.concat_arrays([case.column, pa.nulls(rows - len(case.column), case.column.type)]) for case in CASES
        ]
        fields = [pa.field(case.name, case.column.type, metadata=case.metadata) for case in CASES]
        table = pa.table(columns, schema=pa.schema(fields))
        info = put("all", file_of(table, "zstd", max_chunksize=3), FILE)
        self.assertEqual([column["type"] for column in info["columns"]], [case.type for case in CASES])
        check_kept(self, get_arrow("all", limit="2,7"), table.slice(1, 6))
