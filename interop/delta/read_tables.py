"""Reads Delta tables with every reader: for each line with the path of a table, a line of JSON with what each of them saw."""

import datetime
import decimal
import glob
import json
import os
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
from deltalake import DeltaTable, write_deltalake

SITE = os.path.dirname(os.path.dirname(duckdb.__file__))
(EXTENSION,) = glob.glob(os.path.join(SITE, "duckdb_extension_delta*", "**", "*.duckdb_extension"), recursive=True)

connection = duckdb.connect()
connection.execute(f"LOAD '{EXTENSION}'")
connection.execute("SET TimeZone = 'UTC'")


def by_duckdb(table):
    found = connection.execute(f"FROM delta_scan('{table}')")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row)) for row in found.fetchall()]


def by_pandas(table):
    frame = DeltaTable(table).to_pandas(types_mapper=pandas.ArrowDtype)
    return pyarrow.Table.from_pandas(frame, preserve_index=False).to_pylist()


READERS = {
    "delta-rs": lambda table: DeltaTable(table).to_pyarrow_table().to_pylist(),
    "polars": lambda table: polars.scan_delta(table).collect().rows(named=True),
    "pandas": by_pandas,
    "duckdb": by_duckdb,
}


def plain(value):
    """The same text from every reader."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        is_map = len(value) > 0 and all(isinstance(item, tuple) for item in value)
        return plain(dict(value)) if is_map else [plain(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat() if value.tzinfo else value.isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int) and abs(value) > 2**53:
        return str(value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    return value


def read(reader, table):
    try:
        # A table has no order.
        return sorted((plain(row) for row in reader(table)), key=json.dumps)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def vacuum(table):
    # Something to remove, which is no part of the table.
    extra = os.path.join(table, "extra.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"id": [1]}), extra)
    try:
        DeltaTable(table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)
    finally:
        os.remove(extra)


CHANGES = {
    "append": lambda table: write_deltalake(table, pyarrow.table({"id": [1]}), mode="append"),
    "overwrite": lambda table: write_deltalake(table, pyarrow.table({"id": [1]}), mode="overwrite"),
    "delete": lambda table: DeltaTable(table).delete(),
    "update": lambda table: DeltaTable(table).update({"id": "0"}),
    "optimize": lambda table: DeltaTable(table).optimize.compact(),
    "vacuum": vacuum,
}


def change(way, table):
    try:
        way(table)
    except Exception as error:
        return str(error)
    return "changed"


for line in sys.stdin:
    verb, table = line.rstrip("\n").split(" ", 1)
    run, ways = (change, CHANGES) if verb == "change" else (read, READERS)
    print(json.dumps({name: run(way, table) for name, way in ways.items()}), flush=True)
