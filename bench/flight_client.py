"""One client that alternates between all servers: puts a frame and reads it. Prints the cost of each call as JSON."""

import json
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl

PUTS = 7
GETS = 30
# Warm-up reads of each server.
WARM_UP = 10
DESCRIPTOR = fl.FlightDescriptor.for_path("frame")


class Side:
    """A server: its name and its client."""

    def __init__(self, name, address, pid):
        self.name, self.pid = name, pid
        self.client = fl.connect(f"grpc://{address}")

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rsplit(") ", 1)[1].split(" ")
        return (int(fields[11]) + int(fields[12])) / 100

    def measured(self, run):
        started, cpu = time.perf_counter(), self.cpu_seconds()
        run()
        return {"seconds": time.perf_counter() - started, "serverCpuSeconds": self.cpu_seconds() - cpu}

    def put(self, table):
        writer, _ = self.client.do_put(DESCRIPTOR, table.schema)
        with writer:
            writer.write_table(table, 65_536)

    def get(self, rows):
        info = self.client.get_flight_info(DESCRIPTOR)
        total = sum(chunk.data.num_rows for chunk in self.client.do_get(info.endpoints[0].ticket))
        assert total == rows, total

    def check(self, table):
        """Checks before timing that every value is as it was put."""
        info = self.client.get_flight_info(DESCRIPTOR)
        assert self.client.do_get(info.endpoints[0].ticket).read_all().equals(table), self.name


def frame_of(rows):
    random = np.random.default_rng(1)
    integers = {f"i{n}": random.integers(0, 1_000_000, rows) for n in range(2)}
    doubles = {f"x{n}": random.integers(0, 100_000, rows) / 100 for n in range(2)}
    return pa.table({**integers, **doubles})


def take_turns(sides, rounds, run):
    """Measures the call on each side, round by round, with a rotating order."""
    values = {side.name: [] for side in sides}
    for number in range(rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            values[side.name].append(side.measured(lambda: run(side)))
    return values


def main(rows, *servers):
    sides = [Side(*server.split(",")) for server in servers]
    table = frame_of(int(rows))
    puts = take_turns(sides, PUTS, lambda side: side.put(table))
    for side in sides:
        side.check(table)
    take_turns(sides, WARM_UP, lambda side: side.get(table.num_rows))
    gets = take_turns(sides, GETS, lambda side: side.get(table.num_rows))
    print(json.dumps({"bytes": table.nbytes, "puts": puts, "gets": gets}))


main(*sys.argv[1:])
