"""The documented refusals of the server, each with a part of its message."""

from typing import Callable, NamedTuple

import pyarrow as pa
import pyarrow.types as is_type

from .rebuild import kinds_in


class Refusal(NamedTuple):
    #: Whether a type, at any depth of a column, is refused.
    has: Callable
    sentence: str
    #: The prefixes of the names of the ways in that refuse it.
    ways: str = ""


NOT_SUPPORTED = "which this server does not support"
REFUSALS = [
    Refusal(is_type.is_union, NOT_SUPPORTED),
    Refusal(is_type.is_run_end_encoded, NOT_SUPPORTED),
    Refusal(lambda kind: is_type.is_list_view(kind) or is_type.is_large_list_view(kind), NOT_SUPPORTED),
    # DuckDB cannot read these.
    Refusal(lambda kind: is_type.is_struct(kind) and "" in [field.name for field in kind], "cannot be read", "Parquet"),
    Refusal(lambda kind: kind == pa.timestamp("ns"), "is not of the type TIMESTAMP_NS", "CSV"),
]
#: A 400 in the words of the clients.
BAD_DATA = (400, "ArrowInvalid", "ProgrammingError", "INVALID_ARGUMENT")


def is_documented(case, way_in, refused):
    """Whether a put is refused for a documented reason, with its message."""
    return refused.status in BAD_DATA and any(
        way_in.startswith(refusal.ways)
        and refusal.sentence in refused.sentence
        and any(refusal.has(kind) for field in case.schema for kind in kinds_in(field.type))
        for refusal in REFUSALS
    )


def is_for_names(case, refused):
    """Whether a put is refused because two columns have the same name."""
    sentences = ("wo columns", "The CSV file cannot be read")
    has_same_names = len(set(case.schema.names)) < len(case.schema.names)
    return has_same_names and refused.status in BAD_DATA and any(text in refused.sentence for text in sentences)


def is_for_values(refused):
    """Whether a put is refused because a value does not fit; for a Parquet file the row is unknown."""
    return refused.status in BAD_DATA and any(text in refused.sentence for text in ("Row ", "The Parquet file", "is not a whole day"))
