"""Arrays as Python values that compare exactly, and parsers of JSON and CSV texts for the same values."""

import base64
import datetime as dt
import functools
import math
import re
import struct
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.types as is_type

from . import forms
from .forms import UNITS, with_scale
from .rebuild import is_list

EPOCH_DAYS = dt.date(1970, 1, 1).toordinal()
NAN = "NaN"


def python_values(array):
    """The values of a stored array: floats as bits, times as integers, intervals as their parts, decimals as texts."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return [None if value is None else str(uuid.UUID(bytes=value)) for value in array.storage.to_pylist()]
    if is_type.is_map(kind):
        pairs = list(zip(python_values(array.keys), python_values(array.items)))
        return cut(array, [list(pair) for pair in pairs])
    if is_list(kind):
        return cut(array, python_values(array.values))
    if is_type.is_struct(kind):
        fields = [python_values(array.field(i)) for i in range(kind.num_fields)]
        return [
            tuple(field[i] for field in fields) if seen else None for i, seen in enumerate(array.is_valid().to_pylist())
        ]
    return [None if not seen else value for value, seen in zip(leaf_values(array), array.is_valid().to_pylist())]


def cut(array, items):
    offsets = array.offsets.to_pylist()
    seen = array.is_valid().to_pylist()
    return [items[offsets[i] : offsets[i + 1]] if seen[i] else None for i in range(len(array))]


def leaf_values(array):
    kind = array.type
    if is_type.is_floating(kind):
        return [None if value is None else float_bits(value, kind) for value in array.to_pylist()]
    if is_type.is_decimal(kind):
        return [None if text is None else with_scale(text, kind.scale) for text in forms.digits(array).to_pylist()]
    if kind == pa.month_day_nano_interval():
        return [None if value is None else tuple(value) for value in array.to_pylist()]
    if is_type.is_temporal(kind):
        return forms.integers(array)[0].tolist()
    return array.to_pylist()


def float_bits(value, kind):
    if math.isnan(value):
        return NAN
    return struct.pack("<f" if kind == pa.float32() else "<d", value)


class Number(str):
    """The text of a number in JSON, not parsed yet."""


@functools.cache
def parser(kind):
    """Returns a function that parses a JSON value or a CSV text as a value of a stored type."""
    read = nested_parser(kind) or leaf_parser(kind)
    return lambda value: None if value is None else read(value)


def nested_parser(kind):
    if is_type.is_map(kind):
        key, item = parser(kind.key_type), parser(kind.item_type)
        return lambda pairs: [[key(one), item(other)] for one, other in pairs]
    if is_list(kind):
        item = parser(kind.value_type)
        return lambda items: list(map(item, items))
    if is_type.is_struct(kind):
        names, fields = [field.name for field in kind], [parser(field.type) for field in kind]
        return lambda pairs: parsed_struct(names, fields, pairs)
    return None


def parsed_struct(names, fields, pairs):
    # Objects are read as pairs, because a Python dict would merge equal names.
    assert [name for name, _ in pairs] == names, f"{pairs} does not have the fields {names}"
    return tuple(read(value) for read, (_, value) in zip(fields, pairs))


def leaf_parser(kind):
    if is_type.is_boolean(kind):
        return lambda value: {"true": True, "false": False}[value] if isinstance(value, str) else value
    if is_type.is_integer(kind):
        return int
    if is_type.is_floating(kind):
        return lambda text: parsed_float(kind, text)
    if is_type.is_binary(kind):
        return lambda text: base64.b64decode(text, validate=True)
    if is_type.is_date(kind):
        return lambda text: parsed_moment(text, "s", (2**31 - 1) * 86_400) // 86_400
    if is_type.is_timestamp(kind):
        return lambda text: parsed_moment(text, kind.unit, 2**63 - 1)
    if is_type.is_time(kind):
        return lambda text: parsed_clock(text, kind.unit)
    if is_type.is_duration(kind):
        return lambda text: parsed_duration(text, kind.unit)
    if kind == pa.month_day_nano_interval():
        return parsed_interval
    return str


def parsed_duration(text, unit):
    months, days, nanos = parsed_interval(text)
    units, rest = divmod(nanos, 10**9 // UNITS[unit])
    assert (months, days, rest) == (0, 0, 0), text
    return units


def parsed_float(kind, text):
    number = float(text)
    if kind == pa.float32() and not math.isnan(number):
        with np.errstate(over="ignore"):
            return float_bits(float(np.float32(text)), kind)
    return float_bits(number, kind)


MOMENT = re.compile(r"([+-]?\d{4,7})-(\d\d)-(\d\d)(?:T(\d\d:\d\d:\d\d(?:\.\d+)?)Z)?")


def parsed_moment(text, unit, infinity):
    if text in ("infinity", "-infinity"):
        return infinity if text == "infinity" else -infinity
    year, month, day, clock = MOMENT.fullmatch(text).groups()
    # Shift years by whole cycles of 400 into the range of Python.
    cycles, year = divmod(int(year) - 1, 400)
    days = dt.date(year + 1, int(month), int(day)).toordinal() - EPOCH_DAYS + cycles * 146_097
    return days * 86_400 * UNITS[unit] + (0 if clock is None else parsed_clock(clock, unit))


def parsed_clock(text, unit):
    hours, minutes, seconds, fraction = re.fullmatch(r"(\d\d):(\d\d):(\d\d)(?:\.(\d+))?", text).groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    digits = len(str(UNITS[unit])) - 1
    fraction = fraction or ""
    assert set(fraction[digits:]) <= {"0"}, f"{text} is finer than {unit}"
    return whole * UNITS[unit] + int(fraction[:digits].ljust(digits, "0") or 0)


PART = r"(?:(-?\d+)%s)?"
INTERVAL = re.compile(
    "P" + PART % "Y" + PART % "M" + PART % "D" + "(?:T" + PART % "H" + PART % "M" + r"(?:(-?)(\d+)(?:\.(\d+))?S)?)?"
)


def parsed_interval(text):
    match = INTERVAL.fullmatch(text)
    assert match is not None, f"{text} is no duration of ISO 8601"
    years, months, days, hours, minutes = (int(part or 0) for part in match.groups()[:5])
    sign, seconds, fraction = match.groups()[5:]
    nanos = int((seconds or "0") + (fraction or "").ljust(9, "0")) * (-1 if sign else 1)
    return years * 12 + months, days, (hours * 60 + minutes) * 60 * 10**9 + nanos
