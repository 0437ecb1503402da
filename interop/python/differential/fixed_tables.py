"""Tables in the shape of Arrow's integration tests, and some values that are rare in random tables."""

import random

import pyarrow as pa

from .random_tables import INDICES, UNITS, ZONES, Case
from .random_values import Values

#: The number of rows in the batches of most of Arrow's tables.
BATCHES = [17, 20]


def fixed_cases():
    """All fixed tables, the same every time."""
    return [*integration_cases(), *extreme_cases()]


def made(name, types, batches=BATCHES, metadata=None):
    """A case with a nullable and a required column of each type."""
    values = Values(random.Random(name))
    fields = [
        pa.field(f"{kind_name}_{'nullable' if nullable else 'required'}", kind, nullable, metadata)
        for kind_name, kind in types.items()
        for nullable in ((True, False) if kind != pa.null() else (True,))
    ]
    schema = pa.schema(fields, metadata)
    return Case(
        name,
        schema,
        [
            pa.RecordBatch.from_arrays(
                [values.array(field.type, rows, field.nullable) for field in fields], schema=schema
            )
            for rows in batches
        ],
    )


def named(*types):
    return {str(kind): kind for kind in types}


def integration_cases():
    primitive = named(
        pa.bool_(), *INDICES, pa.float32(), pa.float64(), pa.binary(), pa.string(), pa.binary(19), pa.binary(120)
    )
    digits = {"decimal32": (pa.decimal32, range(3, 10)), "decimal64": (pa.decimal64, range(10, 19))}
    wide = {"decimal128": (pa.decimal128, range(19, 39, 3)), "decimal256": (pa.decimal256, range(37, 77, 7))}
    point = pa.struct([("f1", pa.int32()), ("f2", pa.string())])
    texts = pa.dictionary(pa.int8(), pa.string())
    return [
        made("primitive", primitive),
        made("primitive_zerolength", primitive, [0, 0, 0]),
        made("primitive_no_batches", primitive, []),
        made("primitive_large_offsets", named(pa.large_binary(), pa.large_string())),
        made("null", named(pa.null()), [0, 10]),
        made("null_trivial", named(pa.null()), [0]),
        *[
            made(name, named(*[make(precision, 2) for precision in precisions]), [7, 10])
            for name, (make, precisions) in {**digits, **wide}.items()
        ],
        made(
            "datetime",
            named(
                pa.date32(),
                pa.date64(),
                pa.time32("s"),
                pa.time32("ms"),
                pa.time64("us"),
                pa.time64("ns"),
                *[pa.timestamp(unit, zone) for unit in UNITS for zone in ZONES],
            ),
            [7, 10],
        ),
        made("duration", named(*[pa.duration(unit) for unit in UNITS]), [7, 10]),
        made("interval_mdn", named(pa.month_day_nano_interval()), [7, 10]),
        made("map", {"map": pa.map_(pa.string(), pa.int32())}, [7, 10]),
        made(
            "non_canonical_map",
            {"map": pa.map_(pa.field("some_key", pa.string(), False), pa.field("some_value", pa.int32()))},
            [7],
        ),
        made(
            "nested",
            {
                "list": pa.list_(pa.field("item", pa.int32())),
                "fixed": pa.list_(pa.field("item", pa.int32()), 4),
                "struct": point,
            },
            [7, 10],
        ),
        made(
            "recursive_nested",
            {
                "lists_list": pa.list_(pa.list_(pa.int16())),
                "structs_list": pa.list_(point),
                "list_struct": pa.struct([("f3", pa.list_(point))]),
            },
            [7, 10],
        ),
        made(
            "nested_large_offsets",
            {
                "large": pa.large_list(pa.int32()),
                "large_large": pa.large_list(pa.large_list(pa.int16())),
                "large_struct": pa.large_list(point),
            },
            [0, 13],
        ),
        made(
            "custom_metadata",
            named(pa.int32(), pa.list_(pa.int32())),
            metadata={"key": "value", "empty": "", "ü": "日本"},
        ),
        made(
            "dictionary",
            {
                "dict0": texts,
                "dict1": pa.dictionary(pa.int32(), pa.string()),
                "dict2": pa.dictionary(pa.int16(), pa.int64()),
            },
            [7, 10],
        ),
        made("dictionary_unsigned", {str(index): pa.dictionary(index, pa.string()) for index in INDICES[4:]}, [7, 10]),
        made(
            "nested_dictionary",
            {
                "list_dict": pa.list_(texts),
                "struct_dict": pa.struct([("a", texts), ("b", pa.dictionary(pa.uint8(), pa.float64()))]),
                "list_struct_dict": pa.list_(pa.struct([("a", texts)])),
            },
            [10, 13],
        ),
        made("binary_view", named(pa.binary_view(), pa.string_view())),
        made("extension", {"uuid": pa.uuid(), "list_of_uuid": pa.list_(pa.uuid())}),
        *refused_cases(),
    ]


def refused_cases():
    """Types that the server does not support."""
    numbers, texts = pa.array([1, 2, None], pa.int32()), pa.array(["a", None, "b"])
    dense = pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [numbers, texts])
    sparse = pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [numbers, texts])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"]))
    views = pa.array([[1], None, [2, 3]], pa.list_view(pa.int32()))
    large_views = pa.array([["a"], None, []], pa.large_list_view(pa.string()))
    in_struct = pa.StructArray.from_arrays([dense], ["u"])
    # Two columns with the same name cannot be distinguished.
    twice = pa.table([[1, 2], ["a", "b"]], names=["ints", "ints"])
    return [
        *[
            case_of(name, pa.table({name: array}))
            for name, array in {
                "dense_union": dense,
                "sparse_union": sparse,
                "run_end_encoded": runs,
                "list_view": views,
                "large_list_view": large_views,
                "nested_union": in_struct,
            }.items()
        ],
        case_of("duplicate_fieldnames", twice),
    ]


def case_of(name, table):
    return Case(name, table.schema, table.to_batches())


def integers(values, kind):
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array(values, width).view(kind)


def extreme_cases():
    """Values at the limits of the stored types, and beyond."""
    limit = 2**63 - 1
    zeros = [0.0, -0.0] * 3000
    columns = {
        "seconds beyond microseconds": integers([limit // 1_000_000 + 1], pa.timestamp("s")),
        "milliseconds beyond microseconds": integers([-(limit // 1000) - 1], pa.timestamp("ms", "UTC")),
        "hidden seconds beyond microseconds": pa.StructArray.from_arrays(
            [integers([limit - 7, 1], pa.timestamp("s"))], ["t"], mask=pa.array([True, False])
        ),
        "part of a day": integers([86_400_000, 1], pa.date64()),
        "negative part of a day": integers([-86_400_000, -1], pa.date64()),
        "days beyond 32 bits": integers([2**31 * 86_400_000], pa.date64()),
        "limits of timestamps": integers([-limit - 1, -limit, limit, 0], pa.timestamp("us")),
        "limits of timestamps in lists": pa.ListArray.from_arrays(
            pa.array([0, 3]), integers([-limit - 1, -limit, limit], pa.timestamp("us"))
        ),
        "limits of dates": integers([-(2**31), -(2**31) + 1, 2**31 - 1], pa.date32()),
        "zeros": pa.array(zeros),
        "zeros of 32 bits": pa.array(zeros, pa.float32()),
        "zeros of 16 bits": pa.array(zeros, pa.float16()),
        "zeros in structs": pa.StructArray.from_arrays([pa.array(zeros)], ["z"]),
        "zeros in lists": pa.ListArray.from_arrays(pa.array(range(0, 6001, 2), pa.int32()), pa.array(zeros)),
        "zeros of a dictionary": pa.DictionaryArray.from_arrays(
            pa.array([0, 1] * 3000, pa.int8()), pa.array([0.0, -0.0])
        ),
        "a late zero": pa.array([1.5] * 22_000 + [0.0, -0.0]),
        "a struct without fields": pa.array([{}, None, {}], pa.struct([])),
        "a map with a key twice": pa.array([[("a", 1), ("a", 2)], [], None], pa.map_(pa.string(), pa.int32())),
        "an empty name": pa.StructArray.from_arrays([pa.array([1])], [""]),
        "long texts": pa.array(["é" * 70_000, "", None]),
        "128-bit integers": pa.array([10**38 - 1, -(10**38) + 1, None], pa.decimal128(38, 0)),
    }
    return [case_of(name, pa.table({"v": column})) for name, column in columns.items()]
