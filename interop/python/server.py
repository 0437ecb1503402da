"""A client of the server under test."""

import io
import json
import os
import urllib.error
import urllib.parse
import urllib.request

import pyarrow as pa

URL = os.environ["SVC_URL"]
STREAM = "application/vnd.apache.arrow.stream"
FILE = "application/vnd.apache.arrow.file"


def send(method, path, body=None, headers=None):
    """Returns the body of a response; raises an error with its message."""
    request = urllib.request.Request(URL + path, data=body, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None


def put(handle, body, content_type=STREAM):
    """Puts a frame, and returns its metadata."""
    return json.loads(send("PUT", f"/frames/{handle}", bytes(body), {"Content-Type": content_type}))


def get(path, **parameters):
    """Returns the bytes of a response."""
    return send("GET", f"{path}?{urllib.parse.urlencode(parameters)}")


def get_arrow(handle, **parameters):
    """A frame as Arrow."""
    table = pa.ipc.open_stream(get("/exp", handle=handle, fmt="arrow", **parameters)).read_all()
    table.validate(full=True)
    return table


def stream_of(table, compression=None, **options):
    """A table as an Arrow IPC stream."""
    return written(pa.ipc.new_stream, table, compression, **options)


def file_of(table, compression=None, **options):
    """A table as an Arrow IPC file."""
    return written(pa.ipc.new_file, table, compression, **options)


def written(new_writer, table, compression, max_chunksize=None, **options):
    sink = io.BytesIO()
    write = pa.ipc.IpcWriteOptions(compression=compression, **options)
    with new_writer(sink, table.schema, options=write) as writer:
        writer.write_table(table, max_chunksize)
    return sink.getvalue()
