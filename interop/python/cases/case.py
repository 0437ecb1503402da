"""The definition of a case."""

from typing import NamedTuple

import pyarrow as pa


class Case(NamedTuple):
    name: str
    column: pa.Array
    #: The type name of the server.
    type: str
    #: Each value in JSON, without nulls.
    json: list
    #: Each value in CSV, if that is not the JSON text without its quotes.
    csv: list | None = None
    #: Metadata of the field.
    metadata: dict | None = None


def quoted(values):
    return [f'"{value}"' for value in values]
