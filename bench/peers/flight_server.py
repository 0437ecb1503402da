"""
A pyarrow Flight server: frames in memory; each upload is written to Parquet and synced before it is acknowledged. The
options are the fastest for numbers of many distinct values: no dictionaries, and row groups of a million rows.
"""

import os
import sys

import pyarrow as pa
import pyarrow.flight as fl
import pyarrow.parquet as pq

ROW_GROUP_ROWS = 1 << 20
OPTIONS = {"compression": "zstd", "compression_level": 3, "use_dictionary": False}


class Server(fl.FlightServerBase):
    def __init__(self, directory):
        super().__init__("grpc://127.0.0.1:0")
        self.directory = directory
        self.frames = {}

    def get_flight_info(self, context, descriptor):
        (name,) = descriptor.path
        table = self.frames[name]
        return fl.FlightInfo(table.schema, descriptor, [fl.FlightEndpoint(name, [])], table.num_rows, table.nbytes)

    def do_get(self, context, ticket):
        return fl.RecordBatchStream(self.frames[ticket.ticket])

    def do_put(self, context, descriptor, reader, writer):
        (name,) = descriptor.path
        path = os.path.join(self.directory, name.decode())
        batches = []
        with open(path + ".new", "wb") as file:
            with pq.ParquetWriter(file, reader.schema, **OPTIONS) as parquet:
                first, rows = 0, 0
                for chunk in reader:
                    batches.append(chunk.data)
                    rows += chunk.data.num_rows
                    if rows >= ROW_GROUP_ROWS:
                        write_group(parquet, batches[first:])
                        first, rows = len(batches), 0
                if rows > 0:
                    write_group(parquet, batches[first:])
            file.flush()
            os.fsync(file.fileno())
        os.rename(path + ".new", path)
        self.frames[name] = pa.Table.from_batches(batches, reader.schema)


def write_group(parquet, batches):
    parquet.write_table(pa.Table.from_batches(batches), row_group_size=2 * ROW_GROUP_ROWS)


if __name__ == "__main__":
    server = Server(sys.argv[1])
    print(f"127.0.0.1:{server.port}", flush=True)
    server.serve()
