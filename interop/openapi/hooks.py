"""How schemathesis writes bodies of formats it does not know, and which requests the server may refuse although they fit."""

import json
import re

import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance


@schemathesis.serializer(
    "application/sql",
    "application/x-ndjson",
    "text/csv",
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.arrow.file",
    "application/vnd.apache.parquet",
)
def as_bytes(_context, value):
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "surrogatepass")


# What a description cannot say: the code of the error, a pattern of its sentence, and why.
REFUSALS = [
    ("invalid_argument", r"(Neither|Both) handle (nor|and) query", "Exactly one of two parameters."),
    ("invalid_argument", r"is not a range of rows", "A range ends after it begins."),
    ("invalid_argument", r"is not a list of columns|twice", "A list has names, each once, and quotes in pairs."),
    ("invalid_argument", r"no column|names the column", "The columns of a frame are its own."),
    ("invalid_argument", r"cannot mean null", "A text for null does not have the delimiter in it."),
    ("invalid_argument", r"does not apply to", "Some parameters are for one format of the body."),
    ("invalid_argument", r"is not allowed with SQL in the body", "A body with SQL has none of the parameters of rows."),
    ("invalid_argument", r"^(date|timestamp)format=", "A format of dates is a small language."),
    ("invalid_argument", r"ttl is .* in the URL, and .* in the body", "Two times to live differ."),
    ("invalid_argument", r"is not one etag of a frame", "An etag is one that the server has sent."),
    ("invalid_argument", r"is not supported for /chk", "Only the default engine answers /chk."),
    ("invalid_sql", r"", "Not every text is a statement, and not every statement suits the frames."),
    ("invalid_data", r"", "Not every body of a format has rows, and not all rows suit a frame."),
    ("unsupported_media_type", r"", "The first bytes of a body show another format or compression."),
    ("tsdb_not_configured", r"", "The engine in a body, or its default, is not configured."),
    ("scheduler_not_configured", r"", "The engine in a body is not configured."),
    ("precondition_failed", r"", "The condition of a request is about the state of the frame."),
]


@schemathesis.check
def accepts_valid_requests(context, response, case):
    """Fails if a request that fits the description is refused, except as `REFUSALS` says."""
    if response.status_code in (400, 412, 415):
        error = response.json()
        for code, sentence, _why in REFUSALS:
            if error["code"] == code and re.search(sentence, error["error"]):
                return None
    return positive_data_acceptance(context, response, case)
