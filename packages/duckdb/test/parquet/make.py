"""Makes the Parquet files beside this script: python make.py, with pyarrow 26 and polars 2."""

import base64
import datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).parent
NANOS = 1704164645123456789
LONG = Decimal("-12345678901234567890123456789012345678.123456789012")


def write(name, columns, **options):
    pq.write_table(pa.table(columns), FOLDER / f"{name}.parquet", compression="zstd", **options)


def zoned(values, zone="UTC"):
    return pa.array(values, pa.timestamp("ns", zone))


write(
    "pyarrow-types",
    {
        "decimal50": pa.array([Decimal("1E-12"), None, LONG], pa.decimal256(50, 12)),
        "decimal76": pa.array([Decimal("9" * 76), None, Decimal("-" + "9" * 76)], pa.decimal256(76, 0)),
        "decimal20": pa.array([Decimal("1.5"), None, Decimal("-9.25")], pa.decimal256(20, 2)),
        "decimal5": pa.array([Decimal("1.5"), None, Decimal("-9.25")], pa.decimal32(5, 2)),
        "decimals": pa.array([[Decimal("1E-12"), None], None, []], pa.list_(pa.decimal256(50, 12))),
        "nanos": pa.array([NANOS, None, -1], pa.timestamp("ns")),
        "nanos_utc": zoned([NANOS, None, -1]),
        "nanos_paris": zoned([NANOS, None, -1], "Europe/Paris"),
        "nanos_list": pa.array([[NANOS, None], None, []], pa.list_(pa.timestamp("ns", "UTC"))),
        "nanos_struct": pa.array([{"a": NANOS}, None, {"a": None}], pa.struct([("a", pa.timestamp("ns", "UTC"))])),
        "nanos_map": pa.array([[("k", NANOS)], None, []], pa.map_(pa.string(), pa.timestamp("ns", "UTC"))),
        "millis_paris": pa.array([1704164645123, None, -1], pa.timestamp("ms", "Europe/Paris")),
        "seconds": pa.array([1704164645, None, -1], pa.timestamp("s")),
        "time_nanos": pa.array([86399999999999, None, 1], pa.time64("ns")),
        "time_list": pa.array([[86399999999999, None], None, []], pa.list_(pa.time64("ns"))),
        "time_struct": pa.array([{"a": 1}, None, {"a": None}], pa.struct([("a", pa.time64("ns"))])),
        "time_map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.time64("ns"))),
        "time_seconds": pa.array([86399, None, 1], pa.time32("s")),
        "duration": pa.array([1999, None, -1], pa.duration("ns")),
        "duration_seconds": pa.array([2**63 - 1, None, -1], pa.duration("s")),
        "duration_list": pa.array([[1999, None], None, []], pa.list_(pa.duration("ns"))),
        "symbol": pa.array(["a", None, "b"]).dictionary_encode(),
        "large_symbol": pa.array(["a", None, "b"], pa.large_string()).dictionary_encode(),
        "text": pa.array(["a", None, "b"], pa.large_string()),
        "view": pa.array(["a", None, "b"], pa.string_view()),
        "bytes": pa.array([b"abcd", None, b"efgh"], pa.binary(4)),
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef", None, None], pa.binary(16))),
        "pair": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)),
        "nulls": pa.array([None, None, None], pa.null()),
        "half": pa.array([1.5, None, 6.103515625e-05], pa.float16()),
        "ulong": pa.array([2**64 - 1, None, 0], pa.uint64()),
        "date": pa.array([-1, None, 2932897], pa.date32()),
        "two": pa.StructArray.from_arrays([pa.array([1, 2, 3]), pa.array([4, 5, 6])], ["a", "A"]),
        "Two": pa.array([1, None, 3], pa.int8()),
    },
)

write("int96-nanos", {"t": pa.array([NANOS, None, -1], pa.timestamp("ns"))}, use_deprecated_int96_timestamps=True, store_schema=False)
write(
    "int96-micros",
    {
        "t": pa.array([253402300799123456, None, -1], pa.timestamp("us")),
        "list": pa.array([[253402300799123456, None], None, []], pa.list_(pa.timestamp("us"))),
    },
    use_deprecated_int96_timestamps=True,
    store_schema=False,
)
write(
    "int96-mixed",
    {"t": pa.array([NANOS], pa.timestamp("ns")), "u": pa.array([253402300799123456], pa.timestamp("us"))},
    use_deprecated_int96_timestamps=True,
    store_schema=False,
)

# A schema of Arrow that does not fit: durations where there are texts, zones where there are none.
lies = pa.schema([("text", pa.duration("ns")), ("whole", pa.timestamp("ns", "UTC")), ("time", pa.timestamp("us", "UTC"))])
message = base64.b64encode(lies.serialize().to_pybytes()).decode()
table = pa.table({"text": ["a"], "whole": [1], "time": pa.array([1], pa.timestamp("us"))})
pq.write_table(table.replace_schema_metadata({"ARROW:schema": message}), FOLDER / "lies.parquet", store_schema=False)

pl.DataFrame(
    {
        "duration": [datetime.timedelta(microseconds=5), None],
        "nanos": pl.Series([1999, None]).cast(pl.Duration("ns")),
        "category": pl.Series(["a", None], dtype=pl.Categorical),
        "enum": pl.Series(["a", None], dtype=pl.Enum(["a", "b"])),
        "time": [datetime.time(1, 2, 3, 4), None],
        "paris": pl.Series([NANOS, None]).cast(pl.Datetime("ns", "Europe/Paris")),
    }
).write_parquet(FOLDER / "polars.parquet")
