"""A pyarrow Flight server: frames in memory; each upload is written to Parquet and synced before it is acknowledged."""

import os
import sys

import pyarrow as pa
import pyarrow.flight as fl
import pyarrow.parquet as pq


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
            with pq.ParquetWriter(file, reader.schema, compression="zstd", compression_level=3) as parquet:
                for chunk in reader:
                    parquet.write_batch(chunk.data)
                    batches.append(chunk.data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(path + ".new", path)
        self.frames[name] = pa.Table.from_batches(batches, reader.schema)


if __name__ == "__main__":
    server = Server(sys.argv[1])
    print(f"127.0.0.1:{server.port}", flush=True)
    server.serve()
