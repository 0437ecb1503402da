"""Random tables: the same for the same seed."""

import random
from typing import NamedTuple

import pyarrow as pa

from .random_values import Values

UNITS = ["s", "ms", "us", "ns"]
ZONES = [None, "UTC", "Europe/Berlin", "+05:30"]
INDICES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
NAMES = ["plain", "a b", "select", 'q"uote', "ap'os", "ünï", "x,y", "a.b", "file_row_number", "Case", "case", "CASE"]
FIELD_NAMES = [["a", "b", "c"], ["x", "X", "y z"], ["only"]]
#: Around the 2048 rows of a DuckDB vector and the 20 480 of a row group.
ROWS = [0, 1, 2, 5, 50, 50, 500, 2047, 2049]
MANY_ROWS = 22_000


class NotWritten(Exception):
    """The client cannot write a case in its format."""


class Case(NamedTuple):
    """A table to send, in the batches it is sent in."""

    name: str
    schema: pa.Schema
    batches: list

    @property
    def table(self):
        return pa.Table.from_batches(self.batches, self.schema)

    def select(self, columns):
        """The case with only some of its columns."""
        return Case(
            self.name,
            pa.schema([self.schema.field(i) for i in columns], self.schema.metadata),
            [select_batch(batch, columns) for batch in self.batches],
        )

    def rows(self, start, count):
        """The case with only some of its rows."""
        batches = []
        for batch in self.batches:
            part = batch.slice(min(start, batch.num_rows), max(0, min(count, batch.num_rows - start)))
            batches.append(part)
            start, count = max(0, start - batch.num_rows), count - part.num_rows
        return Case(self.name, self.schema, batches)


def select_batch(batch, columns):
    fields = [batch.schema.field(i) for i in columns]
    return pa.RecordBatch.from_arrays(
        [batch.column(i) for i in columns], schema=pa.schema(fields, batch.schema.metadata)
    )


def plain_types():
    """Every non-nested type, some of them with random parameters."""
    return [
        lambda rng: pa.bool_(),
        *[lambda rng, kind=kind: kind for kind in INDICES],
        lambda rng: rng.choice([pa.float16(), pa.float32(), pa.float64()]),
        lambda rng: decimal_type(rng, pa.decimal32, 9),
        lambda rng: decimal_type(rng, pa.decimal64, 18),
        lambda rng: decimal_type(rng, pa.decimal128, 38),
        lambda rng: decimal_type(rng, pa.decimal256, 76),
        lambda rng: rng.choice([pa.string(), pa.large_string(), pa.string_view()]),
        lambda rng: rng.choice([pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(rng.choice([1, 7, 16]))]),
        lambda rng: rng.choice([pa.date32(), pa.date64()]),
        lambda rng: rng.choice([pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]),
        lambda rng: pa.timestamp(rng.choice(UNITS), rng.choice(ZONES)),
        lambda rng: pa.duration(rng.choice(UNITS)),
        lambda rng: pa.month_day_nano_interval(),
        lambda rng: pa.uuid(),
        lambda rng: pa.null(),
        lambda rng: pa.dictionary(rng.choice(INDICES), dictionary_values(rng), rng.random() < 0.3),
    ]


def decimal_type(rng, make, digits):
    precision = rng.choice([1, digits, rng.randint(1, digits)])
    return make(precision, rng.choice([0, precision, rng.randint(0, precision), rng.randint(-5, precision + 3)]))


def dictionary_values(rng):
    texts = [pa.string(), pa.large_string(), pa.string()]
    return rng.choice(
        [*texts, pa.int64(), pa.float64(), pa.binary(), pa.date32(), pa.timestamp("ms"), pa.decimal128(9, 2)]
    )


def random_type(rng, depth):
    """A nested type, up to three levels deep."""
    if depth == 0 or rng.random() < 0.25:
        return rng.choice(plain_types())(rng)
    item = lambda: random_field(rng, "item", random_type(rng, depth - 1))
    kind = rng.choice(["list", "large", "fixed", "struct", "struct", "map"])
    if kind == "list":
        return pa.list_(item())
    if kind == "large":
        return pa.large_list(item())
    if kind == "fixed":
        return pa.list_(item(), rng.choice([1, 2, 3]))
    if kind == "map":
        keys = rng.choice([pa.string(), pa.int64(), pa.int32(), pa.date32()])
        return pa.map_(pa.field("key", keys, False), pa.field("value", random_type(rng, depth - 1)))
    return pa.struct([random_field(rng, name, random_type(rng, depth - 1)) for name in rng.choice(FIELD_NAMES)])


def random_field(rng, name, kind):
    return pa.field(name, kind, kind == pa.null() or rng.random() < 0.8)


def random_case(seed):
    """The table of a seed: some plain columns, some nested ones, in batches of any length."""
    rng = random.Random(seed)
    values = Values(rng)
    rows = MANY_ROWS if seed % 8 == 7 else rng.choice(ROWS)
    width = 3 if rows == MANY_ROWS else 9
    types = [rng.choice(plain_types())(rng) for _ in range(width)] + [random_type(rng, 3) for _ in range(width)]
    names = rng.sample(NAMES, len(NAMES)) + [f"c{i}" for i in range(2 * width)]
    fields = [random_field(rng, name, kind) for name, kind in zip(names, types)]
    schema = pa.schema(fields)
    lengths = batch_lengths(rng, rows)
    if rng.random() < 0.5:
        # Slices of one array, which also share its dictionaries.
        arrays = [values.array(field.type, rows, field.nullable) for field in fields]
        starts = [sum(lengths[:i]) for i in range(len(lengths))]
        columns = [[array.slice(start, length) for array in arrays] for start, length in zip(starts, lengths)]
    else:
        columns = [[values.array(field.type, length, field.nullable) for field in fields] for length in lengths]
    batches = [pa.RecordBatch.from_arrays(arrays, schema=schema) for arrays in columns]
    for batch in batches:
        batch.validate(full=True)
    return Case(f"seed {seed}", schema, batches)


def batch_lengths(rng, rows):
    cuts = sorted(rng.randint(0, rows) for _ in range(rng.choice([0, 1, 3, 6])))
    return [end - start for start, end in zip([0, *cuts], [*cuts, rows])]
