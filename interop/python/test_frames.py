"""Frames of pyarrow, pandas and polars are put, and each of the three reads them back."""

import datetime as dt
import decimal
import io
import json
import unittest
from importlib.resources import files

import pandas as pd
import pandas.testing
import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from kept import kept_schema, kept_table
from server import FILE, STREAM, URL, file_of, get, get_arrow, put, send, stream_of

UTC = dt.timezone.utc
NOON = dt.datetime(2024, 1, 2, 12, 0, 0, 123456, UTC)


def batches_of(*columns):
    return [pa.record_batch({"v": column}) for column in columns]


class Arrow(unittest.TestCase):
    def check_kept(self, handle, table):
        back, kept = get_arrow(handle), kept_table(table)
        self.assertTrue(back.equals(kept, check_metadata=True), f"{back.schema}\n\nis not\n\n{kept.schema}")

    def test_dictionaries_that_grow_or_change_between_batches_keep_their_values(self):
        texts = [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]
        growing = [pa.DictionaryArray.from_arrays([len(part) - 1, None, 0], part) for part in texts]
        changing = [pa.DictionaryArray.from_arrays([1, None, 0], part) for part in (["a", "b"], ["x", "y"], ["b", "a"])]
        for name, columns, writers, options in [
            ("deltas", growing, [pa.ipc.new_stream, pa.ipc.new_file], {"emit_dictionary_deltas": True}),
            ("replaced", changing, [pa.ipc.new_stream], {}),
            ("unified", changing, [pa.ipc.new_stream, pa.ipc.new_file], {"unify_dictionaries": True}),
        ]:
            for new_writer, compression in [(writer, codec) for writer in writers for codec in (None, "lz4", "zstd")]:
                with self.subTest(f"{name}, {new_writer.__name__}, {compression}"):
                    table = pa.Table.from_batches(batches_of(*columns))
                    sink = io.BytesIO()
                    write = pa.ipc.IpcWriteOptions(compression=compression, **options)
                    with new_writer(sink, table.schema, options=write) as writer:
                        writer.write_table(table)
                    put("d", sink.getvalue(), FILE)
                    self.check_kept("d", table)
                    self.assertEqual(
                        [row["v"] for row in map(json.loads, get("/exp", handle="d", fmt="ndjson").splitlines())],
                        table["v"].to_pylist(),
                    )

    def test_frames_without_rows_keep_their_columns(self):
        schema = pa.schema(
            [("id", pa.int64()), ("s", pa.dictionary(pa.int32(), pa.string())), ("l", pa.list_(pa.int8()))]
        )
        for name, table in {
            "no batch": schema.empty_table(),
            "an empty one": pa.table([[], [], []], schema=schema),
        }.items():
            for write in (stream_of, file_of):
                with self.subTest(f"{name}, {write.__name__}"):
                    put("empty", write(table), FILE)
                    self.check_kept("empty", table)
                    self.assertEqual(get("/exp", handle="empty"), b"id,s,l\r\n")

    def test_slices_of_larger_arrays_are_what_they_show(self):
        nested = pa.array([[{"a": i, "b": [str(i)] * (i % 3)}] * (i % 4) for i in range(100)])
        table = pa.table({"n": range(100), "t": [str(i) for i in range(100)], "l": nested}).slice(7, 41)
        put("slice", stream_of(table))
        self.check_kept("slice", table)

    def test_ranges_of_rows_over_many_batches_are_those_of_the_table(self):
        table = pa.table({"n": range(1000), "t": [str(i) for i in range(1000)], "b": [i % 3 == 0 for i in range(1000)]})
        put("many", stream_of(table, "zstd", max_chunksize=17))
        for lo, hi in [(1, 1), (17, 18), (18, 35), (300, 701), (990, 1000)]:
            with self.subTest(f"{lo},{hi}"):
                part = get_arrow("many", limit=f"{lo},{hi}", cols="b,t")
                self.assertEqual(part.to_pylist(), table.slice(lo - 1, hi - lo + 1).select(["b", "t"]).to_pylist())

    def test_a_million_rows_come_back_the_same(self):
        count = 1_000_000
        table = pa.table(
            {
                "id": range(count),
                "price": [i / 100 for i in range(count)],
                "symbol": pa.array([f"S{i % 50}" for i in range(count)]).dictionary_encode(),
                "at": pa.array(range(count), pa.int64()).cast(pa.timestamp("us", tz="UTC")),
            }
        )
        put("million", file_of(table, "lz4"), FILE)
        self.check_kept("million", table)
        frame = pl.read_csv(get("/exp", handle="million", fmt="csv"))
        self.assertEqual((frame["id"].sum(), frame["symbol"].n_unique()), (count * (count - 1) // 2, 50))
        self.assertTrue(frame["price"].equals(pl.from_arrow(table["price"])))

    def test_feather_files_as_written_by_default(self):
        table = pa.table({"id": [1, None, 3], "name": pa.array(["a", "b", None]).dictionary_encode()})
        for name, options in {
            "default": {},
            "zstd": {"compression": "zstd"},
            "plain": {"compression": "uncompressed"},
        }.items():
            with self.subTest(name):
                sink = io.BytesIO()
                pyarrow.feather.write_feather(table, sink, **options)
                put("feather", sink.getvalue(), FILE)
                self.check_kept("feather", table)


class Parquet(unittest.TestCase):
    TABLE = pa.table(
        {
            "id": pa.array([1, None, 2**53 + 1]),
            "u64": pa.array([0, 2**64 - 1, None], pa.uint64()),
            "price": [1.5, None, -0.25],
            "name": ["a", None, "with, comma"],
            "ok": [True, None, False],
            "at": pa.array([NOON, None, NOON], pa.timestamp("us", tz="UTC")),
            "day": [dt.date(2024, 1, 2), None, dt.date(1969, 12, 31)],
            "clock": pa.array([dt.time(3, 4, 5, 678901), None, dt.time()], pa.time64("us")),
            "cost": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("-2.00")], pa.decimal128(10, 2)),
            "raw": [b"\x00\xff", None, b""],
            "list": [[1, None], [], None],
            "place": [{"city": "Bonn", "at": [50.7]}, None, {"city": None, "at": []}],
        }
    )

    def parquet(self, **parameters):
        return io.BytesIO(get("/exp", handle="parquet", fmt="parquet", **parameters))

    def test_pyarrow_pandas_and_polars_read_what_was_put(self):
        put("parquet", stream_of(self.TABLE))
        table = pa.parquet.read_table(self.parquet())
        self.assertEqual(table.to_pylist(), self.TABLE.to_pylist())
        self.assertEqual(table.column_names, self.TABLE.column_names)
        pandas.testing.assert_frame_equal(pd.read_parquet(self.parquet()), self.TABLE.to_pandas())
        self.assertEqual(pl.read_parquet(self.parquet()).to_dicts(), pl.from_arrow(self.TABLE).to_dicts())

    def test_it_is_compressed_with_zstd_and_has_the_rows_and_columns_asked_for(self):
        put("parquet", stream_of(self.TABLE))
        file = pa.parquet.ParquetFile(self.parquet(limit="2,3", cols="name,id"))
        self.assertEqual(file.metadata.row_group(0).column(0).compression, "ZSTD")
        self.assertEqual(file.read().to_pylist(), self.TABLE.slice(1).select(["name", "id"]).to_pylist())

    def test_a_dictionary_of_texts_is_texts(self):
        put("parquet", stream_of(pa.table({"s": pa.array(["x", None, "x"]).dictionary_encode()})))
        self.assertEqual(pa.parquet.read_table(self.parquet())["s"].to_pylist(), ["x", None, "x"])


class Rows(unittest.TestCase):
    def test_whole_numbers_of_json_keep_every_digit(self):
        rows = [{"i": -(2**63), "u": 2**64 - 1}, {"i": 2**53 + 1, "u": 0}, {"i": None}]
        for content_type, body in {
            "application/json": json.dumps(rows),
            "application/x-ndjson": "\n".join(json.dumps(row) for row in rows),
        }.items():
            with self.subTest(content_type):
                put("rows", body.encode(), content_type)
                table = get_arrow("rows")
                self.assertEqual(table.schema.types, [pa.int64(), pa.uint64()])
                self.assertEqual(table.to_pylist(), [{"i": None, "u": None} | row for row in rows])

    def test_doubles_of_json_are_those_of_python(self):
        values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 123456789.125, 1e23, 9007199254740993.5]
        put("rows", json.dumps([{"v": value} for value in values]).encode(), "application/json")
        self.assertEqual(list(map(repr, get_arrow("rows")["v"].to_pylist())), list(map(repr, values)))


class Pandas(unittest.TestCase):
    FRAME = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "price": [1.5, float("nan"), -0.25],
            "name": ["a", None, "with, comma"],
            "kind": pd.Categorical(["x", "y", "x"], categories=["z", "y", "x"], ordered=True),
            "at": pd.to_datetime(["2024-01-02T03:04:05.678901Z", None, "1969-12-31T23:59:59.000000Z"]),
            "whole": pd.array([2**53 + 1, None, 3], dtype="Int64"),
            "ok": pd.array([True, None, False], dtype="boolean"),
            "took": pd.to_timedelta(["1h", None, "2ms"]),
        },
        index=pd.Index(["r1", "r2", "r3"], name="row"),
    )

    def check_kept(self, frame):
        """All dtypes survive except categorical, which becomes text."""
        back = get_arrow("pd")
        self.assertTrue(back.schema.equals(kept_schema(pa.Schema.from_pandas(frame)), check_metadata=True))
        pandas.testing.assert_frame_equal(back.to_pandas(), frame.astype({"kind": "str"}), check_exact=True)
        pandas.testing.assert_frame_equal(back.to_pandas().astype(frame.dtypes), frame, check_exact=True)

    def test_a_frame_comes_back_with_its_index_and_dtypes(self):
        put("pd", stream_of(pa.Table.from_pandas(self.FRAME)))
        self.check_kept(self.FRAME)

    def test_a_compressed_feather_file_of_arrow_0_17(self):
        path = files("pyarrow") / "tests/data/feather/v0.17.0.version.2-compression.lz4.feather"
        put("old", path.read_bytes(), FILE)
        self.assertEqual(get_arrow("old").to_pydict(), {"a": [0, 1, 2, 3, 4]})

    def test_a_feather_file_of_pandas_comes_back(self):
        sink = io.BytesIO()
        frame = self.FRAME.reset_index()
        frame.to_feather(sink)
        put("pd", sink.getvalue(), FILE)
        self.check_kept(frame)

    def test_read_csv_and_read_json_read_the_answers(self):
        frame = self.FRAME.reset_index().drop(columns="took")
        put("pd", stream_of(pa.Table.from_pandas(frame)))
        dtypes = frame.dtypes.to_dict()
        csv = pd.read_csv(f"{URL}/exp?handle=pd&fmt=csv", dtype={"whole": "Int64"}, parse_dates=["at"])
        pandas.testing.assert_frame_equal(csv.astype(dtypes), frame)
        # pandas converts integers with a null to doubles; as texts they stay unchanged.
        ndjson = pd.read_json(f"{URL}/exp?handle=pd&fmt=ndjson&quoteLargeNum=true", lines=True, dtype=False)
        ndjson["at"] = pd.to_datetime(ndjson["at"])
        ndjson["whole"] = pd.to_numeric(ndjson["whole"], dtype_backend="numpy_nullable")
        pandas.testing.assert_frame_equal(ndjson.astype(dtypes), frame)

    def test_rows_as_json_become_a_frame(self):
        for fmt, body in {
            "application/json": self.FRAME[["id", "price", "name"]].to_json(orient="records"),
            "application/x-ndjson": self.FRAME[["id", "price", "name"]].to_json(orient="records", lines=True),
        }.items():
            with self.subTest(fmt):
                info = put("rows", body.encode(), fmt)
                self.assertEqual([column["type"] for column in info["columns"]], ["LONG", "DOUBLE", "STRING"])
                table = json.loads(get("/exec", handle="rows", fmt="json"))
                frame = pd.DataFrame(table["dataset"], columns=[column["name"] for column in table["columns"]])
                pandas.testing.assert_frame_equal(frame, self.FRAME[["id", "price", "name"]].reset_index(drop=True))


class Polars(unittest.TestCase):
    FRAME = pl.DataFrame(
        {
            "id": [1, None, 3],
            "u8": pl.Series([0, 255, None], dtype=pl.UInt8),
            "price": [1.5, float("nan"), None],
            "small": pl.Series([0.1, None, 3.0], dtype=pl.Float32),
            "name": ["short", None, "longer than the twelve bytes of a view"],
            "kind": pl.Series(["x", "y", None], dtype=pl.Categorical),
            "side": pl.Series(["buy", "sell", None], dtype=pl.Enum(["buy", "sell"])),
            "at": [NOON, None, NOON],
            "day": [dt.date(2024, 1, 2), None, dt.date(1, 1, 1)],
            "clock": [dt.time(3, 4, 5, 678901), None, dt.time()],
            "took": [dt.timedelta(seconds=1.5), None, dt.timedelta(0)],
            "cost": pl.Series([decimal.Decimal("1.10"), None, decimal.Decimal("-2.00")], dtype=pl.Decimal(38, 2)),
            "raw": [b"\x00\xff", None, b"longer than twelve bytes"],
            "list": [[1, None], [], None],
            "pair": pl.Series([[1, 2], None, [3, 4]], dtype=pl.Array(pl.Int16, 2)),
            "place": [{"city": "Bonn", "at": [50.7]}, None, {"city": None, "at": []}],
            "none": [None, None, None],
        }
    )

    #: The types that are stored as a simpler type.
    SIMPLER = {"kind": pl.String, "side": pl.String, "pair": pl.List(pl.Int16), "none": pl.String}

    def test_a_frame_comes_back_in_every_form_polars_writes(self):
        for name, write in {
            "stream": lambda sink: self.FRAME.write_ipc_stream(sink),
            "stream, lz4": lambda sink: self.FRAME.write_ipc_stream(sink, compression="lz4"),
            "stream, zstd": lambda sink: self.FRAME.write_ipc_stream(sink, compression="zstd"),
            "stream, oldest": lambda sink: self.FRAME.write_ipc_stream(sink, compat_level=pl.CompatLevel.oldest()),
            "file": lambda sink: self.FRAME.write_ipc(sink),
            "file, lz4": lambda sink: self.FRAME.write_ipc(sink, compression="lz4"),
            "file, zstd": lambda sink: self.FRAME.write_ipc(sink, compression="zstd"),
            "file, oldest": lambda sink: self.FRAME.write_ipc(sink, compat_level=pl.CompatLevel.oldest()),
        }.items():
            with self.subTest(name):
                sink = io.BytesIO()
                write(sink)
                put("pl", sink.getvalue(), FILE)
                back = pl.read_ipc_stream(io.BytesIO(get("/exp", handle="pl", fmt="arrow")))
                polars.testing.assert_frame_equal(back, self.FRAME.cast(self.SIMPLER), check_exact=True)
                sent = pa.ipc.open_stream if name.startswith("stream") else pa.ipc.open_file
                schema = kept_schema(sent(sink.getvalue()).schema)
                self.assertTrue(get_arrow("pl").schema.equals(schema, check_metadata=True), schema)

    def test_what_is_kept_as_a_simpler_type_can_be_cast_to_its_own(self):
        frame = self.FRAME.drop("none")
        sink = io.BytesIO()
        frame.write_ipc_stream(sink)
        put("pl", sink.getvalue())
        back = pl.read_ipc_stream(io.BytesIO(get("/exp", handle="pl", fmt="arrow")))
        polars.testing.assert_frame_equal(back.cast(dict(frame.schema)), frame, check_exact=True)

    def test_a_frame_is_appended_to_itself(self):
        sink = io.BytesIO()
        self.FRAME.write_ipc_stream(sink)
        put("pl", sink.getvalue())
        send("POST", "/frames/pl", sink.getvalue(), {"Content-Type": STREAM})
        back = pl.read_ipc_stream(io.BytesIO(get("/exp", handle="pl", fmt="arrow")))
        twice = pl.concat([self.FRAME, self.FRAME]).cast(self.SIMPLER)
        polars.testing.assert_frame_equal(back, twice, check_exact=True)

    def test_read_csv_and_read_ndjson_read_the_answers(self):
        frame = self.FRAME.select("id", "price", "name", "at", "day").with_columns(pl.col("price").fill_nan(None))
        sink = io.BytesIO()
        frame.write_ipc_stream(sink)
        put("pl", sink.getvalue())
        for name, back, day in [
            ("csv", pl.read_csv(get("/exp", handle="pl", fmt="csv")), "%Y-%m-%d"),
            ("ndjson", pl.read_ndjson(get("/exp", handle="pl", fmt="ndjson")), "%Y-%m-%dT00:00:00.000Z"),
        ]:
            with self.subTest(name):
                typed = back.with_columns(
                    pl.col("at").str.to_datetime(time_unit="us", time_zone="UTC"),
                    pl.col("day").str.to_date(day),
                )
                polars.testing.assert_frame_equal(typed, frame)

    def test_ndjson_of_polars_becomes_a_frame(self):
        frame = self.FRAME.select("id", "name", "list", "place")
        put("rows", frame.write_ndjson().encode(), "application/x-ndjson")
        back = pl.read_ndjson(get("/exp", handle="rows", fmt="ndjson"), schema=frame.schema)
        polars.testing.assert_frame_equal(back, frame)
