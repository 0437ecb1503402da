"""What works with Ibis, through its backend for GizmoSQL and a connection of ADBC: each line of the output is a part of a row of the
table in docs/clients.md. The argument: the address of the server."""

import datetime as dt
import decimal
import sys

import adbc_driver_flightsql.dbapi as adbc
import ibis
import pandas as pd
import pyarrow as pa
from client_steps import equal, refuses, run_steps

ADDRESS = f"grpc://{sys.argv[1]}"
AT = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
ROWS = pa.table(
    {
        "id": [1, 2, 3],
        "name": ["a", None, "it's"],
        "price": [decimal.Decimal("1.25"), None, decimal.Decimal("2.50")],
        "day": [dt.date(2024, 1, 2), None, dt.date(2024, 1, 3)],
        "at": pa.array([AT, None, AT], pa.timestamp("us")),
        "ok": [True, None, False],
        "parts": [[1, 2], None, []],
    }
)


def drop(server, *names):
    for name in names:
        server.drop_table(name, force=True)


def tables(server):
    drop(server, "ibis_t", "ibis_e", "ibis_s")
    equal(server.create_table("ibis_t", ROWS).to_pyarrow().sort_by("id").to_pylist(), ROWS.to_pylist())
    large = server.create_table("ibis_e", server.table("ibis_t").filter(ibis._.id > 1))
    equal(large.count().execute(), 2)
    server.create_table("ibis_s", schema=ibis.schema({"id": "int64", "name": "string"}))
    server.insert("ibis_s", pd.DataFrame({"id": [7], "name": ["x"]}))
    equal(server.table("ibis_s").to_pandas().values.tolist(), [[7, "x"]])
    drop(server, "ibis_e", "ibis_s")


def lists(server):
    equal(server.list_tables(like="^ibis_t$"), ["ibis_t"])
    equal((server.current_catalog, server.list_databases()), ("memory", ["main"]))
    types = "int64 string decimal(3, 2) date timestamp(6) boolean array<int64>"
    equal(" ".join(str(type) for type in server.table("ibis_t").schema().types), types)


def expressions(server):
    rows = server.table("ibis_t")
    names = ibis.memtable({"id": [1, 3], "other": ["one", "three"]})
    joined = rows.join(names, "id").filter(rows.at >= dt.datetime(2024, 1, 1)).order_by(ibis.desc("id"))
    equal(joined.select("id", "other").to_pandas().values.tolist(), [[3, "three"], [1, "one"]])
    totals = rows.group_by(is_named=rows.name.notnull()).agg(n=rows.count(), total=rows.price.sum()).order_by("is_named")
    equal(totals.select("is_named", "n").to_pyarrow().to_pylist(), [{"is_named": False, "n": 1}, {"is_named": True, "n": 2}])
    ranked = rows.mutate(place=ibis.row_number().over(order_by=ibis.desc("id"))).order_by("place").limit(1)
    equal(ranked.to_pyarrow().column("id").to_pylist(), [3])
    equal(sum(batch.num_rows for batch in rows.to_pyarrow_batches()), 3)
    equal(server.sql("SELECT max(id) AS most FROM ibis_t").mutate(next=ibis._.most + 1).execute().values.tolist(), [[3, 4]])


def connect(server):
    host, port = sys.argv[1].split(":")
    options = {"user": "any", "password": "any", "use_encryption": False}
    refuses("Unsupported GizmoSQL server backend", lambda: ibis.gizmosql.connect(host=host, port=int(port), **options))


def overwrite(server):
    drop(server, "ibis_o")
    server.create_table("ibis_o", ROWS)
    others = server.list_tables()
    server.create_table("ibis_o", ROWS.slice(1), overwrite=True)
    equal(server.table("ibis_o").order_by("id").to_pyarrow().to_pylist(), ROWS.slice(1).to_pylist())
    left = [name for name in server.list_tables() if name not in others and "_memtable_" not in name]
    equal(left, [])
    drop(server, "ibis_o")


def remains(server):
    drop(server, *server.list_tables(like="_memtable_"))
    server.create_table("ibis_m", ROWS)
    drop(server, "ibis_m")
    equal(len(server.list_tables(like="_memtable_")), 1)


def views(server):
    refuses("does more than read frames", lambda: server.create_view("ibis_v", server.table("ibis_t")))
    refuses("does more than read frames", lambda: server.create_table("ibis_x", ROWS, temp=True))


STEPS = [
    ("works", "`create_table` of pyarrow, pandas, an expression or a schema; `insert`, `drop_table`", tables),
    ("works", "`create_table(overwrite=True)`", overwrite),
    ("works", "`list_tables`, `table` with its schema", lists),
    ("works", "expressions, `memtable` and `sql`, as pandas, pyarrow or batches", expressions),
    ("lacks", "`ibis.gizmosql.connect`, which accepts only GizmoSQL: use `from_connection`", connect),
    ("lacks", "removal of what `memtable` and `create_table` upload: frames whose names have `_memtable_` stay", remains),
    ("lacks", "views and temporary tables", views),
]

if __name__ == "__main__":
    with adbc.connect(ADDRESS, autocommit=True) as connection:
        run_steps(STEPS, ibis.gizmosql.from_connection(connection))
