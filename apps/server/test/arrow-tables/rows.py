"""The rows of Arrow batches as NDJSON in the form in which the server writes them (see "Types" in docs/http-api.md)."""

import base64
import datetime
import json
import math
import uuid

import pyarrow as pa


def rows_of(batches: list[pa.RecordBatch]) -> str:
    lines = []
    for batch in batches:
        names = [json.dumps(name) for name in batch.schema.names]
        for row in range(batch.num_rows):
            cells = [f"{names[i]}:{text(column[row])}" for i, column in enumerate(batch.columns)]
            lines.append("{" + ",".join(cells) + "}\n")
    return "".join(lines)


def text(value: pa.Scalar) -> str:
    kind = value.type
    if not value.is_valid:
        return "null"
    if pa.types.is_dictionary(kind):
        return text(value.value)
    if pa.types.is_map(kind):
        return "[" + ",".join(f"[{text(pair[0])},{text(pair[1])}]" for pair in value.values) + "]"
    if pa.types.is_struct(kind):
        return "{" + ",".join(f"{json.dumps(field.name)}:{text(value[i])}" for i, field in enumerate(kind)) + "}"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return "[" + ",".join(text(item) for item in value.values) + "]"
    if isinstance(kind, pa.UuidType):
        return json.dumps(str(uuid.UUID(bytes=value.value.as_py())))
    return plain(value, kind)


def plain(value: pa.Scalar, kind: pa.DataType) -> str:
    if pa.types.is_temporal(kind):
        return json.dumps(time(value, kind))
    if pa.types.is_floating(kind):
        return number(value.as_py())
    given = value.as_py()
    if isinstance(given, bytes):
        return json.dumps(base64.b64encode(given).decode())
    if pa.types.is_decimal(kind):
        return json.dumps(f"{given:f}")
    return json.dumps(given, ensure_ascii=False)


def number(value: float) -> str:
    """The digits of JavaScript: no `.0`, and no zero in front of an exponent."""
    if not math.isfinite(value):
        return "null"
    return repr(value).removesuffix(".0").replace("e-0", "e-")


UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def time(value: pa.Scalar, kind: pa.DataType) -> str:
    if pa.types.is_interval(kind):
        months, days, nanos = value.as_py()
        return iso("P" + parts((months // 12, "Y"), (months % 12, "M"), (days, "D")), nanos)
    if pa.types.is_date(kind):
        days = value.value if pa.types.is_date32(kind) else value.value // 86_400_000
        return f"{datetime.date.fromordinal(days + 719_163):%Y-%m-%d}T00:00:00.000Z".rjust(24, "0")
    nanos = value.value * (10**9 // UNITS[kind.unit])
    if pa.types.is_duration(kind):
        return iso("P", nanos)
    places = 9 if kind.unit == "ns" else 6
    days, nanos = divmod(nanos, 86_400 * 10**9)
    seconds, nanos = divmod(nanos, 10**9)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}." + f"{nanos:09}"[:places]
    if pa.types.is_time(kind):
        return clock
    return f"{datetime.date.fromordinal(days + 719_163)}T{clock}Z"


def parts(*pairs: tuple[int, str]) -> str:
    return "".join(f"{count}{unit}" for count, unit in pairs if count)


def iso(date: str, nanos: int) -> str:
    """An ISO 8601 duration that is not below zero."""
    seconds, nanos = divmod(nanos, 10**9)
    rest = f".{nanos:09}".rstrip("0") if nanos else ""
    clock = parts((seconds // 3600, "H"), (seconds // 60 % 60, "M"))
    if seconds % 60 or rest:
        clock += f"{seconds % 60}{rest}S"
    if clock:
        return f"{date}T{clock}"
    return date if len(date) > 1 else "PT0S"
