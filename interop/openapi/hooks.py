"""How schemathesis writes the bodies whose formats it does not know: text as it is, everything else as JSON."""

import json

import schemathesis


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
