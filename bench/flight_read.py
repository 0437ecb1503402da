"""Reads all rows of a frame by DoGet. Prints the seconds that it takes, without the connection."""

import sys
import time

import pyarrow.flight as fl


def main(address, handle, rows):
    client = fl.connect(f"grpc://{address}")
    client.wait_for_available()
    started = time.perf_counter()
    info = client.get_flight_info(fl.FlightDescriptor.for_path(handle))
    total = sum(chunk.data.num_rows for chunk in client.do_get(info.endpoints[0].ticket))
    print(time.perf_counter() - started)
    assert total == int(rows), total


main(*sys.argv[1:])
