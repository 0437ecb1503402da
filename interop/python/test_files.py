"""Real clients read frames as files: `/files/{handle}.parquet`, `.arrow`, `.csv` and `.ndjson`, by their URL alone."""

import datetime as dt
import decimal
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zoneinfo

import duckdb
import duckdb_extension_httpfs
import fsspec
import pandas as pd
import pandas.testing
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet

from relay import Relay, tls_of_localhost
from server import URL, get, put, send, stream_of

ROWS = 200_000
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
NOON = dt.datetime(2024, 1, 2, 12, 0, 0, 123456, BERLIN)
SUM = ROWS * (ROWS - 1) // 2


def trades():
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "price": [math.sin(i) for i in range(ROWS)],
            "symbol": pa.array([f"S{i % 50}" for i in range(ROWS)]).dictionary_encode(),
            "at": pa.array([NOON + dt.timedelta(seconds=i) for i in range(ROWS)], pa.timestamp("us", tz="Europe/Berlin")),
        }
    )


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.table = trades()
        put("trades", stream_of(cls.table))
        cls.relay = Relay()
        cls.addClassCleanup(cls.relay.close)

    def url(self, name):
        return f"{self.relay.url}/files/{name}"

    def transferred(self, read):
        """Returns what `read` returns, and the bytes it took."""
        before = self.relay.received
        return read(), self.relay.received - before

    def size(self, name):
        with fsspec.filesystem("http", skip_instance_cache=True).open(self.url(name)) as file:
            return file.size

    def test_polars_reads_every_format(self):
        for name, read in {
            "parquet": pl.read_parquet,
            "arrow": pl.read_ipc,
            "csv": pl.read_csv,
            "ndjson": pl.read_ndjson,
        }.items():
            with self.subTest(name):
                frame = read(self.url(f"trades.{name}"))
                self.assertEqual(frame.shape, (ROWS, 4))
                self.assertEqual(frame["price"].to_list(), self.table["price"].to_pylist())

    def test_polars_scans_only_what_it_needs(self):
        for url in (self.url("trades.parquet"), f"{self.relay.url}/exp?handle=trades&fmt=parquet"):
            with self.subTest(url):
                query = pl.scan_parquet(url).filter(pl.col("id") >= ROWS - 5).select("id")
                frame, received = self.transferred(query.collect)
                self.assertEqual(frame["id"].to_list(), list(range(ROWS - 5, ROWS)))
                self.assertLess(received, self.size("trades.parquet") / 2)
        frame = pl.scan_ipc(self.url("trades.arrow")).select("id").collect()
        self.assertEqual(frame["id"].sum(), SUM)
        self.assertEqual(pl.scan_csv(self.url("trades.csv")).select("id").collect()["id"].sum(), SUM)

    def test_duckdb_reads_the_url_in_a_from_clause(self):
        folder = pathlib.Path(duckdb_extension_httpfs.__file__).parent
        with duckdb.connect() as connection:
            connection.load_extension(str(next(folder.rglob("httpfs.duckdb_extension"))))
            for name in ("parquet", "csv", "ndjson"):
                with self.subTest(name):
                    sql = f"SELECT count(*), sum(id) FROM '{self.url(f'trades.{name}')}'"
                    self.assertEqual(connection.sql(sql).fetchall(), [(ROWS, SUM)])
            sql = f"SELECT max(id) FROM '{self.url('trades.parquet')}'"
            rows, received = self.transferred(lambda: connection.sql(sql).fetchall())
            self.assertEqual(rows, [(ROWS - 1,)])
            self.assertLess(received, self.size("trades.parquet") / 2)

    def test_fsspec_seeks(self):
        files = fsspec.filesystem("http", skip_instance_cache=True)
        for name, magic in {"parquet": b"PAR1", "arrow": b"ARROW1"}.items():
            with self.subTest(name), files.open(self.url(f"trades.{name}"), block_size=4096) as file:
                (first, last), received = self.transferred(lambda: self.ends(file, len(magic)))
                self.assertEqual((first, last), (magic, magic))
                self.assertLess(received, 100_000)

    def ends(self, file, length):
        first = file.read(length)
        file.seek(-length, os.SEEK_END)
        return first, file.read()

    def test_pyarrow_datasets_filter_at_the_source(self):
        files = fsspec.filesystem("http", skip_instance_cache=True)
        dataset = pa.dataset.dataset(self.url("trades.parquet"), filesystem=files, format="parquet")
        table = dataset.to_table(columns=["id"], filter=pa.dataset.field("id") >= ROWS - 5)
        self.assertEqual(table["id"].to_pylist(), list(range(ROWS - 5, ROWS)))
        with files.open(self.url("trades.arrow")) as file:
            self.assertEqual(pa.ipc.open_file(file).read_all()["price"].to_pylist(), self.table["price"].to_pylist())

    def test_pandas_reads_every_format_and_zones_survive(self):
        frame = pd.read_parquet(self.url("trades.parquet"))
        self.assertEqual(str(frame["at"].dtype), "datetime64[us, UTC]")
        self.assertEqual(frame["at"][1].to_pydatetime(), NOON + dt.timedelta(seconds=1))
        feather = pd.read_feather(self.url("trades.arrow"))
        self.assertEqual(str(feather["at"].dtype), "datetime64[us, Europe/Berlin]")
        pandas.testing.assert_series_equal(feather["at"].dt.tz_convert("UTC"), frame["at"])
        text = pd.read_csv(self.url("trades.csv"), parse_dates=["at"], date_format="ISO8601")
        self.assertEqual(text["at"][1].to_pydatetime(), NOON + dt.timedelta(seconds=1))
        pandas.testing.assert_series_equal(text["price"], frame["price"])
        lines = pd.read_json(self.url("trades.ndjson"), lines=True)
        self.assertEqual(lines["id"].sum(), SUM)

    def test_datafusion_reads_every_format(self):
        # Its HTTP client takes only TLS, and reads the authorities from the environment when it starts.
        with tempfile.TemporaryDirectory() as folder:
            context, authority = tls_of_localhost(folder)
            relay = Relay(context)
            try:
                program = textwrap.dedent(DATAFUSION).format(url=relay.url, host=relay.url.removeprefix("https://"))
                environment = {**os.environ, "SSL_CERT_FILE": str(authority)}
                run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
            finally:
                relay.close()
            self.assertEqual((run.stdout, run.returncode), (f"{ROWS} {SUM}\n" * 4, 0), run.stderr)

    def test_curl_resumes_a_download(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("parquet", "arrow", "csv"):
                with self.subTest(name):
                    whole = send("GET", f"/files/trades.{name}")
                    path = pathlib.Path(folder) / name
                    path.write_bytes(whole[:100_000])
                    command = ["curl", "--silent", "--fail", "--continue-at", "-", "--output", path]
                    _, received = self.transferred(
                        lambda: subprocess.run([*command, self.url(f"trades.{name}")], check=True)
                    )
                    self.assertEqual(path.read_bytes(), whole)
                    self.assertLess(received, len(whole) - 90_000)

    def test_files_of_every_type_have_the_values_of_the_exports(self):
        table = pa.table(
            {
                "u64": pa.array([0, 2**64 - 1, None], pa.uint64()),
                "day": [dt.date(2024, 1, 2), None, dt.date(1969, 12, 31)],
                "cost": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("-2.00")], pa.decimal128(10, 2)),
                "list": [[1, None], [], None],
                "place": [{"city": "Bonn"}, None, {"city": None}],
            }
        )
        put("types", stream_of(table))
        with fsspec.open(self.url("types.arrow")) as file:
            arrow = pa.ipc.open_file(file).read_all()
        self.assertTrue(arrow.equals(pa.ipc.open_stream(get("/exp", handle="types", fmt="arrow")).read_all()))
        with fsspec.open(self.url("types.parquet")) as file:
            self.assertEqual(pa.parquet.read_table(file).to_pylist(), table.to_pylist())
        put("none", stream_of(table.slice(0, 0)))
        self.assertEqual(pl.read_parquet(f"{URL}/files/none.parquet").shape, (0, 5))
        self.assertEqual(pl.read_ipc(f"{URL}/files/none.arrow").shape, (0, 5))


DATAFUSION = """
    from datafusion import SessionContext
    from datafusion.object_store import Http

    context = SessionContext()
    context.register_object_store("https://", Http("{url}"), "{host}")
    context.register_parquet("a", "{url}/files/trades.parquet")
    context.register_arrow("b", "{url}/files/trades.arrow")
    context.register_csv("c", "{url}/files/trades.csv")
    context.register_json("d", "{url}/files/trades.ndjson", file_extension=".ndjson")
    for name in "abcd":
        [row] = context.sql(f"SELECT count(*) AS n, sum(id) AS s FROM {{name}}").to_pylist()
        print(row["n"], row["s"])
"""
