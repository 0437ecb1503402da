"""Writes the Arrow files of this folder and the rows that must be read out of each.

    python3 -m venv /tmp/arrow && /tmp/arrow/bin/pip install pyarrow==26.0.1
    /tmp/arrow/bin/python apps/server/test/arrow-tables/make_tables.py

`x.arrow` is an Arrow file, `x.arrows` a stream; `x.ndjson` has its rows, `refused/x.arrows` has none: it is refused. All
of them are compressed with gzip.
Below every null of a struct, list or map there are values that no row has. All is random, but the same every time.
"""

import gzip
import pathlib
import random
import struct as binary
from decimal import Decimal

import pyarrow as pa
from rows import rows_of

FOLDER = pathlib.Path(__file__).parent
ROWS = 15
some = random.Random(7)

LONG = "a text that is longer than twelve bytes"
SAMPLES = {
    pa.bool_(): [True, False],
    pa.int8(): [-128, 127, 5],
    pa.int16(): [-32768, 32767],
    pa.int32(): [-(2**31), 2**31 - 1, 7],
    pa.int64(): [-(2**63), 2**63 - 1, 2**53 + 1],
    pa.uint8(): [0, 255],
    pa.uint16(): [0, 65535],
    pa.uint32(): [0, 2**32 - 1],
    pa.uint64(): [0, 2**64 - 1],
    pa.float16(): [0.5, -2.0, 65504.0],
    pa.float32(): [0.5, -0.0, 1.25, float("nan"), float("-inf")],
    pa.float64(): [0.1, -0.0, 1.5e-7, float("nan"), float("inf")],
    pa.decimal32(7, 2): [Decimal("12345.67"), Decimal("-0.01")],
    pa.decimal64(15, 3): [Decimal("123456789012.345"), Decimal("-1.000")],
    pa.decimal128(38, 10): [Decimal("1234567890123456789012345678.0123456789"), Decimal("-1.0000000000")],
    pa.decimal128(9, 0): [Decimal("999999999"), Decimal("-1")],
    pa.decimal256(60, 4): [Decimal("9" * 56 + ".1234"), Decimal("-1.0000")],
    pa.date32(): [0, -719162, 20000],
    pa.date64(): [0, -86_400_000, 1_700_006_400_000],
    pa.time32("s"): [0, 86399],
    pa.time32("ms"): [0, 86_399_999],
    pa.time64("us"): [0, 86_399_999_999],
    pa.time64("ns"): [1, 86_399_999_999_999],
    pa.timestamp("s"): [0, -1, 1_700_000_000],
    pa.timestamp("ms", "UTC"): [1, -1, 1_700_000_000_123],
    pa.timestamp("us"): [1, -1, 1_700_000_000_123_456],
    pa.timestamp("ns"): [1, -1, 1_700_000_000_123_456_789],
    pa.duration("s"): [0, 3661],
    pa.duration("us"): [1, 3_661_000_001],
    pa.duration("ns"): [1, 3_661_000_000_001],
    pa.month_day_nano_interval(): [(14, 3, 14_706_500_000_000), (0, 1, 0)],
    pa.string(): ["", 'é"\\\n', LONG],
    pa.large_string(): ["x", LONG + " 2"],
    pa.string_view(): ["short", LONG + " 3", ""],
    pa.binary(): [b"", b"\x00\xff", LONG.encode()],
    pa.large_binary(): [b"\x01", LONG.encode()],
    pa.binary_view(): [b"\x02", LONG.encode()],
    pa.binary(3): [b"abc", b"\x00\x00\xff"],
    pa.uuid(): [bytes(range(16)), bytes(range(255, 239, -1))],
    pa.null(): [],
    pa.dictionary(pa.int32(), pa.string()): ["a", "b", LONG],
    pa.dictionary(pa.int8(), pa.timestamp("s")): [0, 1_700_000_000],
    pa.dictionary(pa.uint64(), pa.large_string(), ordered=True): ["q", "r"],
    pa.dictionary(pa.uint16(), pa.bool_()): [True, False],
    pa.dictionary(pa.int16(), pa.month_day_nano_interval()): [(1, 0, 0), (0, 2, 0)],
    pa.dictionary(pa.int64(), pa.binary(3)): [b"xyz", b"123"],
    pa.dictionary(pa.uint8(), pa.decimal256(60, 4)): [Decimal("1.5000"), Decimal("-2.0000")],
    pa.dictionary(pa.int32(), pa.string_view()): ["v", LONG + " 4"],
}
# SQL has no durations of nanoseconds, and durations and intervals inside of other types only as texts.
NOT_IN_SQL = [kind for kind in SAMPLES if kind == pa.duration("ns")]
NOT_NESTED = [
    kind
    for kind in SAMPLES
    if pa.types.is_duration(kind) or pa.month_day_nano_interval() in (kind, getattr(kind, "value_type", kind))
]
LEAVES = [kind for kind in SAMPLES if kind not in NOT_IN_SQL]
PARTS = [kind for kind in LEAVES if kind not in NOT_NESTED]
FEW = [pa.int32(), pa.string(), pa.bool_(), pa.string_view(), pa.timestamp("s"), pa.date64(), pa.decimal64(15, 3)]
FEW += [pa.dictionary(pa.int32(), pa.string()), pa.null(), pa.float64(), pa.time64("ns"), pa.uuid()]


def bitmap(rows: int, nulls: float) -> pa.Buffer | None:
    """Which rows have a value."""
    if nulls == 0:
        return None
    bits = bytearray((rows + 7) // 8)
    for row in range(rows):
        bits[row // 8] |= (some.random() >= nulls) << row % 8
    return pa.py_buffer(bytes(bits))


def array(kind: pa.DataType, rows: int, nulls: float = 0.3) -> pa.Array:
    """Random values. It begins in the middle of longer buffers, and so do all arrays inside of it."""
    skip = some.choice([0, 3, 5])
    return whole_array(kind, rows + skip, nulls).slice(skip)


def whole_array(kind: pa.DataType, rows: int, nulls: float) -> pa.Array:
    bits = bitmap(rows, nulls)
    if isinstance(kind, pa.UuidType):
        return pa.ExtensionArray.from_storage(kind, filled(kind.storage_type, SAMPLES[kind], rows, bits))
    if pa.types.is_null(kind):
        return pa.nulls(rows)
    if pa.types.is_dictionary(kind):
        values = pa.array([*SAMPLES[kind], *([None] if nulls else [])], kind.value_type)
        indices = [some.randrange(len(values)) for _ in range(rows)]
        return pa.DictionaryArray.from_arrays(
            filled(kind.index_type, indices, rows, bits, True), values, ordered=kind.ordered
        )
    if pa.types.is_struct(kind):
        return pa.Array.from_buffers(
            kind, rows, [bits], children=[array(field.type, rows, nulls if field.nullable else 0) for field in kind]
        )
    if pa.types.is_fixed_size_list(kind):
        return pa.Array.from_buffers(
            kind, rows, [bits], children=[array(kind.value_type, rows * kind.list_size, nulls)]
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return lists(kind, rows, bits, nulls)
    return filled(kind, SAMPLES[kind], rows, bits)


def lists(kind: pa.DataType, rows: int, bits: pa.Buffer | None, nulls: float) -> pa.Array:
    """Lists and maps; there are items that are in none of them before the first and after the last."""
    ends = [2]
    for _ in range(rows):
        ends.append(ends[-1] + some.randrange(4))
    offsets = pa.py_buffer(binary.pack(f"<{rows + 1}{'q' if pa.types.is_large_list(kind) else 'i'}", *ends))
    if pa.types.is_map(kind):
        entries = pa.struct([pa.field(kind.key_field.name, kind.key_type, nullable=False), kind.item_field])
        items = pa.Array.from_buffers(
            entries,
            ends[-1] + 2,
            [None],
            children=[keys(kind.key_type, ends), array(kind.item_type, ends[-1] + 2, nulls)],
        )
    else:
        items = array(kind.value_type, ends[-1] + 2, nulls if kind.value_field.nullable else 0)
    return pa.Array.from_buffers(kind, rows, [bits, offsets], children=[items])


def keys(kind: pa.DataType, ends: list[int]) -> pa.Array:
    """The keys of maps: different ones in each."""
    if not pa.types.is_integer(kind) and not pa.types.is_string(kind):
        return array(kind, ends[-1] + 2, 0)
    return pa.array([k if pa.types.is_integer(kind) else f"key {k}" for k in range(ends[-1] + 2)], kind)


def filled(kind: pa.DataType, values: list, rows: int, bits: pa.Buffer | None, in_order: bool = False) -> pa.Array:
    """Values with a bitmap over them: what is null is a value below."""
    chosen = [values[i % len(values)] if in_order else some.choice(values) for i in range(rows)]
    full = pa.array(chosen, kind)
    return pa.Array.from_buffers(kind, rows, [bits, *full.buffers()[1:]])


def table(kinds: list[pa.DataType], rows: int = ROWS, nulls: float = 0.3) -> list[pa.RecordBatch]:
    return [batch(kinds, rows, nulls)]


def batch(kinds: list[pa.DataType], rows: int, nulls: float = 0.3) -> pa.RecordBatch:
    columns = [array(kind, rows, nulls) for kind in kinds]
    return pa.record_batch(columns, names=[f"c{i}" for i in range(len(kinds))])


def structs(kinds: list[pa.DataType]) -> pa.DataType:
    return pa.struct([pa.field(f"f{i}", kind) for i, kind in enumerate(kinds)])


INT, TEXT, SYMBOL = pa.int32(), pa.string(), pa.dictionary(pa.int32(), pa.string())
EACH = structs(FEW)
PAIR = pa.struct([("a", INT), ("b", TEXT)])
DEEP = [
    pa.list_(pa.list_(pa.list_(INT))),
    pa.struct([("x", pa.struct([("y", pa.struct([("z", pa.bool_())]))]))]),
    pa.list_(pa.struct([("n", pa.list_(pa.struct([("s", SYMBOL)]))), ("t", TEXT)])),
    pa.struct([("l", pa.large_list(pa.list_(pa.string_view(), 2))), ("m", pa.map_(TEXT, PAIR))]),
    pa.map_(INT, pa.list_(pa.map_(TEXT, pa.list_(pa.timestamp("s"))))),
    pa.list_(pa.struct([("f", pa.list_(PAIR, 2)), ("o", pa.null())]), 3),
    pa.large_list(pa.map_(TEXT, pa.struct([("d", pa.decimal64(15, 3)), ("l", pa.list_(pa.date64()))]))),
    pa.struct([("nulls", pa.list_(pa.null())), ("none", pa.list_(pa.null(), 2))]),
    pa.struct(
        [
            (
                "sure",
                pa.struct(
                    [
                        pa.field("v", INT, nullable=False),
                        pa.field("l", pa.list_(pa.field("item", TEXT, nullable=False)), nullable=False),
                    ]
                ),
            )
        ]
    ),
]
MAPS = [
    pa.map_(TEXT, INT, keys_sorted=True),
    pa.map_(pa.field("some_key", INT, nullable=False), pa.field("some_value", TEXT)),
    pa.map_(pa.date32(), pa.float64()),
    pa.map_(PAIR, SYMBOL),
    pa.map_(pa.dictionary(pa.int8(), pa.timestamp("s")), pa.null()),
]
NOTHING = pa.struct([])
NOT_IN_SQL += [structs(NOT_NESTED), pa.list_(structs(NOT_NESTED)), NOTHING, pa.list_(NOTHING), pa.map_(TEXT, NOTHING)]
MANY = LEAVES + DEEP + MAPS + NOT_IN_SQL
SYMBOLS = [SYMBOL, pa.list_(SYMBOL), pa.struct([("s", SYMBOL), ("l", pa.large_list(SYMBOL))]), pa.map_(TEXT, SYMBOL)]

TABLES = {
    "plain": table(LEAVES),
    "plain-without-nulls": table([kind for kind in LEAVES if not pa.types.is_null(kind)], nulls=0),
    "all-null": table(MANY, 9, nulls=1),
    "structs": table([structs(PARTS), pa.struct([("each", EACH)])]),
    "lists": table([pa.list_(kind) for kind in FEW] + [pa.large_list(EACH), pa.list_(EACH, 2), pa.list_(INT, 0)]),
    "maps": table([*MAPS, pa.map_(INT, EACH)]),
    "deep": table(DEEP, 25),
    "not-in-sql": table(NOT_IN_SQL),
    "batches": [batch(DEEP + FEW, rows) for rows in (5, 0, 9, 1)],
    "no-rows": [batch(MANY, 0)],
    "no-batches": pa.schema([(f"c{i}", kind) for i, kind in enumerate(MANY)]),
}


def symbols(words: list[str | None], rows: int, seed: int) -> pa.RecordBatch:
    """Columns with a dictionary of these words."""
    SAMPLES[SYMBOL] = words
    some.seed(seed)
    return batch(SYMBOLS, rows)


def nested_dictionary() -> pa.RecordBatch:
    values = whole_array(PAIR, 3, 0)
    return pa.record_batch([pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 1]), values)], names=["c"])


ONE = pa.array([1], INT)
REFUSED = {
    "dense-union": pa.record_batch(
        [pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], INT), [ONE])], names=["c"]
    ),
    "sparse-union": pa.record_batch([pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [ONE])], names=["c"]),
    "run-end-encoded": pa.record_batch([pa.RunEndEncodedArray.from_arrays(pa.array([1], INT), ONE)], names=["c"]),
    "list-view": pa.record_batch([pa.array([[1]], pa.list_view(INT))], names=["c"]),
    "dictionary-of-structs": nested_dictionary(),
    "two-columns-of-one-name": pa.record_batch([ONE, ONE], names=["c", "c"]),
    "two-fields-of-one-name": pa.record_batch([pa.StructArray.from_arrays([ONE, ONE], names=["a", "a"])], names=["c"]),
}


def write(name: str, batches: list[pa.RecordBatch] | pa.Schema, is_stream: bool = False, **options: bool) -> None:
    schema, batches = (batches, []) if isinstance(batches, pa.Schema) else (batches[0].schema, batches)
    settings = pa.ipc.IpcWriteOptions(**options)
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(sink, schema, options=settings) as writer:
        for one in batches:
            writer.write_batch(one)
    compress(f"{name}.{'arrows' if is_stream else 'arrow'}", sink.getvalue())
    if not name.startswith("refused/"):
        compress(f"{name}.ndjson", rows_of(batches).encode())


def compress(name: str, content: bytes) -> None:
    path = FOLDER / f"{name}.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(content, mtime=0))


for name, batches in TABLES.items():
    write(name, batches)
write(
    "dictionaries-replaced",
    [symbols(["a", "b"], 9, 1), symbols(["c", LONG], 4, 2), symbols([None, "a"], 6, 3)],
    is_stream=True,
)
write(
    "dictionaries-grown",
    [symbols(["a"], 9, 4), symbols(["a", "b"], 4, 5), symbols(["a", "b", "c"], 6, 6)],
    is_stream=True,
    emit_dictionary_deltas=True,
)
for name, one in REFUSED.items():
    write(f"refused/{name}", [one], is_stream=True)
