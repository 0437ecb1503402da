"""The same SQL on the same Spark, alternating between this server over HTTP and pyspark's own client. Prints JSON."""

import json
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

ROWS = 2_000_000
ROUNDS = 9
# Warm-up rounds: the first statements of a JVM take much longer.
WARM_UP = 4
BIG_PARTS = 64
BIG_PART_ROWS = 1_562_500
BIG_ROUNDS = 3

GROUP_BY = "SELECT k, count(*) AS n, sum(a) AS total, max(x) AS top FROM facts GROUP BY k ORDER BY k"
ALL_ROWS = "SELECT id, a, b, x, y FROM facts"
JOIN = (
    "SELECT d.name, count(*) AS n, sum(CAST(f.v AS BIGINT)) AS total "
    "FROM big f JOIN dims d ON f.k = d.k GROUP BY d.name ORDER BY d.name"
)


def request(url, method="GET", table=None):
    body = None
    if table is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        body = sink.getvalue().to_pybytes()
    sent = urllib.request.Request(url, data=body, method=method)
    if body is not None:
        sent.add_header("content-type", "application/vnd.apache.arrow.stream")
    return urllib.request.urlopen(sent)


def facts():
    ids = np.arange(ROWS, dtype=np.int64)
    return pa.table(
        {"id": ids, "k": (ids % 1000).astype(np.int32), "a": ids * 7, "b": ids % 1009, "x": np.sin(ids), "y": ids / 3}
    )


def put_frames(server):
    request(f"{server}/frames/facts", "PUT", facts()).close()
    names = [f"name {n:04}" for n in range(1000)]
    request(f"{server}/frames/dims", "PUT", pa.table({"k": np.arange(1000, dtype=np.int32), "name": names})).close()
    values = np.arange(BIG_PART_ROWS, dtype=np.int32)
    part = pa.table({"k": values % 1000, "v": values})
    for _ in range(BIG_PARTS):
        request(f"{server}/frames/big", "POST", part).close()


def over_http(server, sql, engine):
    query = urlencode({"query": sql, "engine": engine, "fmt": "arrow"}, quote_via=quote)
    with request(f"{server}/exp?{query}") as response:
        return pa.ipc.open_stream(response).read_all()


def seconds(ask):
    started = time.perf_counter()
    table = ask()
    return time.perf_counter() - started, table


def rows_of(table):
    return sorted(tuple(row.values()) for row in table.to_pylist())


def alternate(sides, rounds, warm_up):
    """Each side once a round, in a changing order."""
    values = {name: [] for name in sides}
    for number in range(warm_up + rounds):
        for name in sides if number % 2 == 0 else reversed(sides):
            values[name].append(seconds(sides[name])[0])
    return {name: taken[warm_up:] for name, taken in values.items()}


def main(server, port, frames):
    put_frames(server)
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    files = sorted(str(path) for path in Path(frames).rglob("facts/*.parquet"))
    spark.read.parquet(*files).createOrReplaceTempView("facts")
    results = {}
    for name, sql in {"group-by": GROUP_BY, "all rows": ALL_ROWS}.items():
        sides = {
            "svc": lambda sql=sql: over_http(server, sql, "scheduler"),
            "pyspark": lambda sql=sql: spark.sql(sql).toArrow(),
        }
        own, other = (seconds(ask)[1] for ask in sides.values())
        assert own.num_rows == other.num_rows, (own.num_rows, other.num_rows)
        if own.num_rows <= 1000:
            assert rows_of(own) == rows_of(other)
        else:
            assert own.column("id").to_numpy().sum() == other.column("id").to_numpy().sum()
        results[name] = {"bytes": own.nbytes, "rows": own.num_rows, **alternate(sides, ROUNDS, WARM_UP)}
    spark.stop()
    sides = {
        "local": lambda: over_http(server, JOIN, "local"),
        "two workers": lambda: over_http(server, JOIN, "scheduler"),
    }
    local, cluster = (seconds(ask)[1] for ask in sides.values())
    assert [[str(cell) for cell in row] for row in rows_of(local)] == [[str(cell) for cell in row] for row in rows_of(cluster)]
    rows = BIG_PARTS * BIG_PART_ROWS
    results["join"] = {"rows": rows, **alternate(sides, BIG_ROUNDS, 0)}
    print(json.dumps(results))


main(*sys.argv[1:])
