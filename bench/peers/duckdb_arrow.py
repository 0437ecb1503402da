"""DuckDB in Python: rows of a query as an Arrow IPC stream, in a loop. One line of SQL in, one line of JSON out."""

import json
import sys
import time

import duckdb
import pyarrow as pa

ROWS_PER_BATCH = 65_536


class Counter:
    """A file-like object that only counts the bytes."""

    def __init__(self):
        self.bytes = 0
        self.closed = False

    def write(self, data):
        self.bytes += len(data)
        return len(data)

    def flush(self):
        pass

    def close(self):
        self.closed = True


def main():
    connection = duckdb.connect()
    print(json.dumps({"ready": duckdb.__version__}), flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        reader = connection.execute(json.loads(line)).to_arrow_reader(ROWS_PER_BATCH)
        sink = Counter()
        rows = 0
        with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
                rows += batch.num_rows
        ms = (time.perf_counter() - start) * 1000
        print(json.dumps({"ms": ms, "rows": rows, "bytes": sink.bytes}), flush=True)


main()
