"""One client for all servers: puts a frame once, reads it so many times. Prints what each took, as JSON."""

import json
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl


# Reads before those that count.
WARM_UP = 10


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(") ", 1)[1].split(" ")
    return (int(fields[11]) + int(fields[12])) / 100


def measured(pid, run):
    started, cpu = time.perf_counter(), cpu_seconds(pid)
    run()
    return {"seconds": time.perf_counter() - started, "serverCpuSeconds": cpu_seconds(pid) - cpu}


def frame_of(rows, seed):
    random = np.random.default_rng(seed)
    integers = {f"i{n}": random.integers(0, 1_000_000, rows) for n in range(4)}
    doubles = {f"x{n}": random.integers(0, 100_000, rows) / 100 for n in range(4)}
    return pa.table({**integers, **doubles})


def main(address, pid, rows, reads, puts):
    client = fl.connect(f"grpc://{address}")
    descriptor = fl.FlightDescriptor.for_path("frame")
    table = frame_of(rows, 1)

    def put():
        writer, _ = client.do_put(descriptor, table.schema)
        with writer:
            writer.write_table(table, 65_536)

    def get():
        info = client.get_flight_info(descriptor)
        total = 0
        for chunk in client.do_get(info.endpoints[0].ticket):
            total += chunk.data.num_rows
        assert total == rows, total

    measured_puts = [measured(pid, put) for _ in range(puts)]
    for _ in range(WARM_UP):
        get()
    measured_gets = [measured(pid, get) for _ in range(reads)]
    print(json.dumps({"bytes": table.nbytes, "puts": measured_puts, "gets": measured_gets}))


main(sys.argv[1], *map(int, sys.argv[2:]))
