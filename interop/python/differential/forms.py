"""The form in which an array is returned: as Arrow, from SQL, in a Parquet file (docs/http-api.md)."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type

from kept import kept_type

from .rebuild import rebuild

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class DoesNotFit(Exception):
    """A value does not fit the type in which it would be stored: the server must refuse it."""


def kept(array):
    """The values in the types in which the server stores them."""
    return rebuild(array, kept_leaf)


def kept_leaf(array):
    kind, target = array.type, kept_type(array.type)
    if kind == target:
        return array
    if is_type.is_null(kind):
        return pa.nulls(len(array), target)
    if is_type.is_timestamp(kind) or is_type.is_time32(kind):
        return scaled(array, 1_000_000 if kind.unit == "s" else 1000, target)
    if is_type.is_date64(kind):
        return days(array)
    return array.cast(target)


def raw_values(array, kind):
    """The raw values of an array."""
    end = array.offset + len(array)
    return np.frombuffer(array.buffers()[1] if end > 0 else b"", kind, end)[array.offset :]


def integers(array):
    """The integers of times of any kind, and where they count."""
    width = np.int32 if array.type.bit_width == 32 else np.int64
    values = raw_values(array, width)
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    return np.where(is_null, 0, values).astype(np.int64), is_null


def scaled(array, factor, target):
    values, is_null = integers(array)
    if (np.abs(values.astype(object)) * factor >= 2**63).any():
        raise DoesNotFit
    return pa.array(values * factor, pa.int64(), mask=is_null).view(target)


def days(array):
    values, is_null = integers(array)
    if (values % 86_400_000 != 0).any() or (abs(values // 86_400_000) >= 2**31 - 1).any():
        raise DoesNotFit
    return pa.array((values // 86_400_000).astype(np.int32), pa.int32(), mask=is_null).view(pa.date32())


def is_wide(kind):
    """A decimal that neither SQL nor DuckDB's Parquet has."""
    fits = kind.precision <= 38 and 0 <= kind.scale <= kind.precision if is_type.is_decimal(kind) else True
    return is_type.is_decimal256(kind) or not fits


def digits(array):
    """Decimals as texts of their digits, whatever their scale."""
    width = array.type.byte_width
    buffer, start = array.buffers()[1], array.offset
    texts = [
        (
            None
            if is_null
            else str(
                int.from_bytes(
                    buffer[(start + i) * width : (start + i + 1) * width].to_pybytes(), "little", signed=True
                )
            )
        )
        for i, is_null in enumerate(array.is_null().to_pylist())
    ]
    return pa.array(texts, pa.string())


def with_scale(digits, scale):
    """The text of a decimal: all of its digits, and no exponent."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    if scale <= 0:
        return sign + (digits + "0" * -scale if digits != "0" else "0")
    digits = digits.rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def parquet(array):
    """The stored values in the form of a Parquet file."""
    return rebuild(array, parquet_leaf, apart)


def parquet_leaf(array):
    kind = array.type
    if is_type.is_struct(kind):
        return without_fields(array)
    if is_wide(kind):
        texts = digits(array).to_pylist()
        return pa.array([None if text is None else parquet_text(text, kind.scale) for text in texts], pa.string())
    if kind == pa.month_day_nano_interval():
        return interval_parts(array)
    if is_type.is_duration(kind) or kind == pa.time64("ns"):
        return array.view(pa.int64())
    if is_type.is_timestamp(kind):
        return in_utc(array)
    return array


def parquet_text(digits, scale):
    """The text of a decimal that DuckDB's Parquet lacks: with an exponent if the scale is negative."""
    return f"{digits}e{-scale}" if scale < 0 and digits != "0" else with_scale(digits, scale)


def interval_parts(array):
    raw = raw_values(array, [("months", np.int32), ("days", np.int32), ("nanos", np.int64)])
    parts = [pa.array(np.ascontiguousarray(raw[name])) for name in ("months", "days", "nanos")]
    return pa.StructArray.from_arrays(parts, ["months", "days", "nanos"], mask=array.is_null())


def sql(array):
    """The stored values as returned by a statement that only selects columns; the zone of a timestamp may be UTC."""
    return rebuild(array, sql_leaf, apart_in_sql)


def sql_leaf(array):
    if is_type.is_struct(array.type):
        return without_fields(array)
    return in_utc(array) if is_type.is_timestamp(array.type) else array


def without_fields(array):
    """DuckDB has no struct without fields."""
    return pa.array([None if value is None else False for value in array.to_pylist()], pa.bool_())


def apart_in_sql(names):
    """Names as SQL distinguishes them: names that differ only in case get numbers."""
    folded = [name.lower() for name in names]
    counts = {name: itertools.count() for name in folded}
    return [
        f"{name}_{next(counts[key])}" if folded.count(key) > 1 else name or "column" for name, key in zip(names, folded)
    ]


def apart(names):
    """Names in a Parquet file: case-insensitive, and never empty."""
    taken, made = set(), []
    for base in (name or "column" for name in names):
        numbered = (base, *(f"{base}_{i}" for i in range(1, len(names) + 1)))
        made.append(next(name for name in numbered if name.lower() not in taken))
        taken.add(made[-1].lower())
    return made


def in_utc(array):
    """DuckDB has timestamps in UTC, and for nanoseconds none with a zone."""
    zone = "UTC" if array.type.tz is not None and array.type.unit == "us" else None
    return array.view(pa.int64()).view(pa.timestamp(array.type.unit, zone))


def of_parquet(array, names_of):
    """The stored form of an array of a Parquet file, which has only the number of digits of a decimal."""
    return rebuild(kept(array), narrow_leaf, names_of)


def narrow_leaf(array):
    is_narrow = is_type.is_decimal256(array.type) and array.type.precision <= 38
    return array.cast(pa.decimal128(array.type.precision, array.type.scale)) if is_narrow else array


def finite_leaf(array):
    if not is_type.is_floating(array.type):
        return array
    return pc.if_else(pc.is_finite(array), array, pa.scalar(None, array.type))


def plain_type(kind):
    """A type without the names and metadata of lists and maps."""
    return rebuild(pa.nulls(0, kind), lambda array: array).type


def bits(array):
    """Floats as the integers of their bits, with one NaN, so that arrays can be compared."""
    return rebuild(array, bits_leaf)


def bits_leaf(array):
    if not is_type.is_floating(array.type):
        return array
    width = {16: np.int16, 32: np.int32, 64: np.int64}[array.type.bit_width]
    values = raw_values(array, width)
    floats = values.view({16: np.float16, 32: np.float32, 64: np.float64}[array.type.bit_width])
    values = np.where(np.isnan(floats), np.array([-1], width), values)
    return pa.array(values, mask=array.is_null().to_numpy(zero_copy_only=False))
