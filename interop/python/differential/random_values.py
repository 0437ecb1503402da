"""Random arrays of one type: extreme values, values under nulls, slices."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.types as is_type

TEXTS = [
    "",
    " ",
    "a",
    "twelve bytes",
    "thirteen byte",
    "longer than the twelve bytes that fit into a view",
    "x" * 300,
    "Grüße",
    "日本語テキスト",
    "🦆" * 5,
    "e\u0301",
    "nul \0 inside",
    'quote " and \\ back',
    "a,b;c\td|e",
    "line\nbreak\r\n",
    "02134",
    "+5",
    "null",
    "NaN",
    "true",
    "2024-01-02",
    "\ufeffmark",
]
INTEGER_LIMITS = {8: 2**7, 16: 2**15, 32: 2**31, 64: 2**63}


class Values:
    """Creates arrays with one random generator."""

    def __init__(self, rng):
        self.rng = rng

    def array(self, kind, count, can_be_null=True):
        """An array, often a slice of a longer one."""
        before, after = (self.rng.choice([0, 0, 1, 3, 9]) for _ in range(2))
        made = self.whole(kind, before + count + after, can_be_null)
        return made.slice(before, count)

    def whole(self, kind, count, can_be_null):
        if is_type.is_null(kind):
            return pa.nulls(count)
        is_null = self.nulls(count) if can_be_null else np.zeros(count, bool)
        if is_type.is_dictionary(kind):
            return self.dictionary(kind, count, is_null, can_be_null)
        if is_type.is_struct(kind):
            children = [self.array(field.type, count, field.nullable) for field in kind]
            return pa.StructArray.from_arrays(children, fields=list(kind), mask=pa.array(is_null))
        if is_type.is_fixed_size_list(kind):
            items = self.array(kind.value_type, count * kind.list_size, kind.value_field.nullable)
            return pa.FixedSizeListArray.from_arrays(items, type=kind, mask=pa.array(is_null))
        if is_type.is_nested(kind):
            return self.list(kind, count, is_null)
        return under_nulls(self.leaf(kind, count), is_null)

    def nulls(self, count):
        share = self.rng.choice([0, 0.1, 0.1, 0.5, 1])
        return np.array([self.rng.random() < share for _ in range(count)], bool)

    def list(self, kind, count, is_null):
        """A list array also has items under its nulls, and may start with items that belong to no list."""
        lengths = [self.rng.choice([0, 0, 1, 2, 3]) for _ in range(count)]
        starts = np.cumsum([self.rng.choice([0, 2]), *lengths])
        width = pa.int64() if is_type.is_large_list(kind) else pa.int32()
        offsets, mask, end = pa.array(starts, width), pa.array(is_null), int(starts[-1])
        if is_type.is_map(kind):
            keys = self.array(kind.key_type, end, False)
            items = self.array(kind.item_type, end, kind.item_field.nullable)
            return pa.MapArray.from_arrays(offsets, keys, items, type=kind, mask=mask)
        items = self.array(kind.value_type, end, kind.value_field.nullable)
        make = pa.LargeListArray if is_type.is_large_list(kind) else pa.ListArray
        return make.from_arrays(offsets, items, type=kind, mask=mask)

    def dictionary(self, kind, count, is_null, can_be_null):
        size = self.rng.choice([1, 3, 20])
        values = self.array(kind.value_type, size, can_be_null and self.rng.random() < 0.3)
        indices = pa.array([self.rng.randrange(size) for _ in range(count)], kind.index_type)
        return pa.DictionaryArray.from_arrays(under_nulls(indices, is_null), values, ordered=kind.ordered)

    def leaf(self, kind, count):
        if isinstance(kind, pa.BaseExtensionType):
            return kind.wrap_array(self.leaf(kind.storage_type, count))
        if is_type.is_boolean(kind):
            return pa.array([self.rng.random() < 0.5 for _ in range(count)])
        if is_type.is_floating(kind):
            return self.floats(kind, count)
        if is_type.is_decimal(kind):
            return self.decimals(kind, count)
        if is_type.is_fixed_size_binary(kind):
            return pa.array([self.rng.randbytes(kind.byte_width) for _ in range(count)], kind)
        if is_type.is_binary(kind) or is_type.is_large_binary(kind) or is_type.is_binary_view(kind):
            return pa.array([self.rng.randbytes(self.rng.choice([0, 1, 12, 13, 40])) for _ in range(count)], kind)
        if is_type.is_string(kind) or is_type.is_large_string(kind) or is_type.is_string_view(kind):
            return pa.array([self.rng.choice(TEXTS) + self.rng.choice(["", str(i)]) for i in range(count)], kind)
        if kind == pa.month_day_nano_interval():
            parts = [(self.integer(32), self.integer(32), self.integer(64)) for _ in range(count)]
            return pa.array(parts, kind)
        if is_type.is_integer(kind):
            lowest = 0 if is_type.is_unsigned_integer(kind) else -INTEGER_LIMITS[kind.bit_width]
            span = 2**kind.bit_width
            return pa.array([lowest + self.integer(kind.bit_width) % span for _ in range(count)], kind)
        return self.times(kind, count)

    def integer(self, width):
        limit = INTEGER_LIMITS[width]
        return self.rng.choice(
            [0, 1, -1, limit - 1, -limit, self.rng.randrange(-100, 100), self.rng.randrange(-limit, limit)]
        )

    def floats(self, kind, count):
        width = {16: np.float16, 32: np.float32, 64: np.float64}[kind.bit_width]
        special = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, 0.1, 16777217.0, 2**-24]
        random = np.frombuffer(self.rng.randbytes(count * kind.bit_width // 8), width)
        picked = np.array([self.rng.choice(special) for _ in range(count)])
        picked = np.where(np.abs(picked) > np.finfo(width).max, np.inf, picked).astype(width)
        return pa.array(np.where([self.rng.random() < 0.5 for _ in range(count)], picked, random).astype(width), kind)

    def decimals(self, kind, count):
        limit = 10**kind.precision - 1
        choices = lambda: self.rng.choice([0, 1, -1, limit, -limit, self.rng.randint(-limit, limit)])
        raw = b"".join(choices().to_bytes(kind.byte_width, "little", signed=True) for _ in range(count))
        return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(raw)])

    def times(self, kind, count):
        """Values of any width from their integer representation."""
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array([self.time(kind) for _ in range(count)], width).view(kind)

    def time(self, kind):
        if is_type.is_date64(kind):
            return (
                self.rng.choice([0, -1, 1, 19_000, 2**31 - 2, -(2**31) + 2, self.rng.randrange(-(10**6), 10**6)])
                * 86_400_000
            )
        if is_type.is_time(kind):
            day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
            return self.rng.choice([0, 1, day - 1, self.rng.randrange(day)])
        if is_type.is_timestamp(kind) and kind.unit in ("s", "ms"):
            limit = (2**63 - 1) // (10**6 if kind.unit == "s" else 1000)
            return self.rng.choice([0, -1, limit, -limit, 1_700_000_000, self.rng.randrange(-limit, limit)])
        return self.integer(kind.bit_width)


def under_nulls(array, is_null):
    """Hides values under nulls: they must not become visible."""
    if not is_null.any():
        return array
    if isinstance(array, pa.ExtensionArray):
        return array.type.wrap_array(under_nulls(array.storage, is_null))
    valid = pa.array(~is_null).buffers()[1]
    return pa.Array.from_buffers(array.type, len(array), [valid, *array.buffers()[1:]])
