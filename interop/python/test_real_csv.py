"""Real CSV files are put, and every cell that is read back is compared with the text in the file."""

import collections
import csv
import io
import json
import math
import unittest
import urllib.error
import urllib.parse
import urllib.request

import pyarrow as pa
import pyarrow.compute as pc

from real_csv.oracle import expected
from real_csv.packages import csv_files
from server import URL, get_arrow

MIN_FILES = 300
MAX_SHOWN = 30


def encoding_of(body):
    """UTF-8, else Windows-1252, in which these files were written."""
    try:
        body.decode("utf-8-sig")
        return "utf-8"
    except UnicodeDecodeError:
        return "windows-1252"


def rows_of(text):
    """The rows of a file; empty lines are no rows, unless there is only one column."""
    lines = text.splitlines(keepends=True)
    head = lines[0] if lines else ""
    delimiter = max(",;\t|", key=head.count)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    width = len(rows[0]) if rows else 0
    return [row or [""] for row in rows if row or width == 1]


def put(body, encoding):
    """The columns of the frame, or the error of a file that is refused."""
    request = urllib.request.Request(
        f"{URL}/frames/real?{urllib.parse.urlencode({'encoding': encoding})}",
        data=body,
        method="PUT",
        headers={"Content-Type": "text/csv"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())["columns"], None
    except urllib.error.HTTPError as error:
        return None, json.loads(error.read())


def comparable(column):
    """The values of a column in the forms of the oracle."""
    if pa.types.is_timestamp(column.type):
        unit = {"us": 1000, "ns": 1}[column.type.unit]
        return [None if value is None else value * unit for value in pc.cast(column, pa.int64()).to_pylist()]
    if pa.types.is_decimal(column.type):
        return [None if value is None else int(value) for value in column.to_pylist()]
    return column.to_pylist()


def is_same(value, wanted):
    if isinstance(wanted, float):
        return isinstance(value, float) and value == wanted and math.copysign(1, value) == math.copysign(1, wanted)
    return type(value) is type(wanted) and value == wanted


class Comparison:
    """What was compared, and what differs."""

    def __init__(self):
        self.files = self.refused = self.cells = 0
        self.types = collections.Counter()
        self.faults = []

    def fault(self, name, what):
        self.faults.append(f"{name}: {what}")

    def file(self, name, body):
        encoding = encoding_of(body)
        text = body.decode("utf-8-sig" if encoding == "utf-8" else encoding)
        try:
            rows = rows_of(text)
        except csv.Error as error:
            rows = str(error)
        columns, refusal = put(body, encoding)
        if columns is None:
            self.refused += 1
            if not is_refusable(rows):
                self.fault(name, f"is refused: {refusal['error']}")
            return
        self.files += 1
        if is_broken(rows):
            self.fault(name, "is accepted although its lines do not match")
            return
        self.table(name, columns, rows)

    def table(self, name, columns, rows):
        names = [column["name"] for column in columns]
        header = len(rows[0]) == len(names) and all(text in ("", name) for text, name in zip(rows[0], names))
        data = rows[1:] if header else rows
        table = get_arrow("real")
        if table.num_rows != len(data):
            self.fault(name, f"has {table.num_rows} rows instead of {len(data)}")
            return
        for at, column in enumerate(columns):
            texts = [row[at] for row in data]
            self.column(f"{name}, column {column['name']!r}", column["type"], comparable(table.column(at)), texts)

    def column(self, name, kind, values, texts):
        self.cells += len(texts)
        self.types[kind] += 1
        wanted, read = expected([text for text in texts if text != ""])
        if kind == "STRING" and "" in values:
            # A quoted empty text is a text and no null, so the column has texts. Python's csv module does not tell.
            wanted, read = "STRING", str
        if kind != wanted:
            example = next(((row, text) for row, text in enumerate(texts, 1) if text != ""), None)
            self.fault(name, f"is {kind} instead of {wanted}; its first value is {example}")
            return
        known = {text: read(text) for text in set(texts) if text != ""}
        for row, (value, text) in enumerate(zip(values, texts), 1):
            if not (is_same(value, known[text]) if text != "" else value in (None, "")):
                self.fault(name, f"row {row}: {text!r} is {value!r}")
                return


def is_broken(rows):
    """Whether Python finds that the lines of a file do not match."""
    return isinstance(rows, str) or not rows or any(len(row) != len(rows[0]) for row in rows)


def is_refusable(rows):
    return is_broken(rows) or len(set(filter(None, rows[0]))) < len([text for text in rows[0] if text])


class RealCsv(unittest.TestCase):
    def test_every_cell_of_real_files_is_what_the_file_says(self):
        comparison = Comparison()
        for name, body in csv_files():
            comparison.file(name, body)
        found = ", ".join(f"{count} {kind}" for kind, count in comparison.types.most_common())
        print(f"{comparison.files} files, {comparison.cells} cells, {comparison.refused} files refused; columns: {found}")
        if comparison.faults:
            shown = "\n".join(comparison.faults[:MAX_SHOWN])
            self.fail(f"{len(comparison.faults)} differences, the first are:\n{shown}")
        self.assertGreaterEqual(comparison.files, MIN_FILES)
