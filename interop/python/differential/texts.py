"""Tables as JSON, NDJSON and CSV, if every value has an exact text."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.types as is_type

from . import forms
from .forms import UNITS
from .random_tables import NotWritten
from .rebuild import is_list, kinds_in

#: The types that can be inferred from JSON.
JSON_TYPES = [pa.int64(), pa.float64(), pa.string(), pa.bool_()]
CSV_TYPES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "BYTE",
    pa.int16(): "SHORT",
    pa.int32(): "INT",
    pa.int64(): "LONG",
    pa.uint64(): "ULONG",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("ns"): "TIMESTAMP_NS",
    pa.time64("us"): "TIME",
    pa.uuid(): "UUID",
}


def is_json(field, column):
    """Whether a column survives unchanged: JSON has its type, and some value reveals it."""
    plain = [kind for kind in kinds_in(field.type) if not (is_type.is_struct(kind) or is_list(kind))]
    return all(kind in JSON_TYPES for kind in plain) and shows_type(forms.kept(column))


def shows_type(array):
    if is_type.is_struct(array.type):
        names = [field.name for field in array.type]
        return len(names) == len(set(names)) > 0 and all(shows_type(child) for child in array.flatten())
    if is_type.is_list(array.type):
        return shows_type(array.values)
    if array.type == pa.float64() and not np.isfinite(array.drop_null().to_numpy()).all():
        return False
    return array.type in JSON_TYPES and array.null_count < len(array)


def json_rows(case):
    if len(set(case.schema.names)) < len(case.schema.names):
        raise NotWritten("an object has a name once")
    columns = [forms.kept(column).to_pylist() for column in case.table.columns]
    return [dict(zip(case.schema.names, row)) for row in zip(*columns)]


def json_of(case):
    return json.dumps(json_rows(case), ensure_ascii=False)


def ndjson_of(case):
    return "".join(json.dumps(row) + "\n" for row in json_rows(case))


def is_csv(field, column):
    kind = field.type
    if is_type.is_decimal128(kind):
        return not forms.is_wide(kind)
    if kind not in CSV_TYPES:
        return False
    if is_type.is_date(kind) or is_type.is_timestamp(kind):
        # Years with four digits.
        day = 1 if is_type.is_date(kind) else 86_400 * UNITS[kind.unit]
        values = forms.integers(forms.kept(column))[0] // day
        return bool(((values > -719_000) & (values < 2_932_000)).all())
    return True


def csv_type(kind):
    return CSV_TYPES.get(kind) or f"DECIMAL({kind.precision},{kind.scale})"


def csv_of(case):
    columns = [csv_texts(forms.kept(column)) for column in case.table.columns]
    lines = [case.schema.names and [quoted(name) for name in case.schema.names], *zip(*columns)]
    return "".join(",".join(line) + "\r\n" for line in lines)


def csv_texts(array):
    kind = array.type
    if is_type.is_string(kind):
        texts = [None if value is None else quoted(value) for value in array.to_pylist()]
    elif is_type.is_floating(kind):
        dtype = array.type.to_pandas_dtype()
        texts = [None if value is None else str(dtype(value)) for value in array.to_pylist()]
    elif is_type.is_boolean(kind):
        texts = [None if value is None else str(value).lower() for value in array.to_pylist()]
    elif is_type.is_temporal(kind):
        texts = array.cast(pa.string()).to_pylist()
    elif is_type.is_decimal(kind):
        texts = (
            array.cast(pa.string()).to_pylist()
            if kind.scale < 6
            else [None if v is None else f"{v:f}" for v in array.to_pylist()]
        )
    else:
        texts = [None if value is None else str(value) for value in array.to_pylist()]
    return ["" if text is None else text for text in texts]


def quoted(text):
    return '"' + text.replace('"', '""') + '"'
