"""What a case is."""

from typing import NamedTuple

import pyarrow as pa


class Case(NamedTuple):
    name: str
    column: pa.Array
    #: The type the server names.
    type: str
    #: Each value as it stands in JSON, null aside.
    json: list
    #: Each value as it stands in CSV, where that is not the text of JSON without its quotes.
    csv: list | None = None
    #: Metadata of the field.
    metadata: dict | None = None


def quoted(values):
    return [f'"{value}"' for value in values]
