"""A client of the Flight service under test."""

import os

import pyarrow.flight as fl

GRPC = f"grpc://{os.environ['SVC_GRPC']}"


def connect():
    return fl.connect(GRPC)


def path_of(*parts):
    return fl.FlightDescriptor.for_path(*parts)


def put(client, handle, table, max_chunksize=None, options=None):
    """Puts a table, and returns the metadata of the result."""
    writer, reader = client.do_put(path_of(handle), table.schema, options)
    with writer:
        writer.write_table(table, max_chunksize)
        writer.done_writing()
        return reader.read().to_pybytes()


def get(client, handle):
    """Reads a frame."""
    info = client.get_flight_info(path_of(handle))
    table = client.do_get(info.endpoints[0].ticket).read_all()
    table.validate(full=True)
    return table
