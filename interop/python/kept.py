"""How the server stores a frame: the exact values, some of them in a simpler type (docs/http-api.md)."""

import pyarrow as pa
import pyarrow.types as is_type

SYMBOL = {b"svc:type": b"SYMBOL"}


def kept_table(table):
    """A table as the server returns it."""
    schema = kept_schema(table.schema)
    return pa.table([as_type(column, field.type) for column, field in zip(table.columns, schema)], schema=schema)


def kept_schema(schema):
    """The schema of a frame, given the schema of its upload."""
    return pa.schema([kept_field(field) for field in schema], schema.metadata)


def kept_field(field):
    kind = kept_type(field.type)
    is_symbol = is_type.is_dictionary(field.type) and is_type.is_string(kind)
    metadata = {**(field.metadata or {}), **SYMBOL} if is_symbol else field.metadata
    return pa.field(field.name, kind, field.nullable, metadata)


def kept_type(kind):
    if is_type.is_dictionary(kind):
        return kept_type(kind.value_type)
    if is_type.is_large_string(kind) or is_type.is_string_view(kind) or is_type.is_null(kind):
        return pa.string()
    if is_type.is_large_binary(kind) or is_type.is_binary_view(kind) or is_type.is_fixed_size_binary(kind):
        return pa.binary()
    if is_type.is_float16(kind):
        return pa.float32()
    if is_type.is_decimal32(kind) or is_type.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if is_type.is_date64(kind):
        return pa.date32()
    if is_type.is_time32(kind):
        return pa.time64("us")
    if is_type.is_timestamp(kind) and kind.unit in ("s", "ms"):
        return pa.timestamp("us", kind.tz)
    return kept_nested_type(kind)


def kept_nested_type(kind):
    if is_type.is_map(kind):
        key, value = kept_field(kind.key_field), kept_field(kind.item_field)
        return pa.map_(key.with_name("key"), value.with_name("value"), kind.keys_sorted)
    if is_type.is_list(kind) or is_type.is_large_list(kind) or is_type.is_fixed_size_list(kind):
        return pa.list_(kept_field(kind.value_field))
    if is_type.is_struct(kind):
        return pa.struct([kept_field(field) for field in kind])
    return kind


def as_type(column, kind):
    """The same values in another type."""
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # pyarrow cannot cast every type, but can create every type from Python values.
        return pa.chunked_array([pa.array(column.to_pylist(), kind)])
