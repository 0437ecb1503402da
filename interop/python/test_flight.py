"""pyarrow.flight against the server: every call, every type in both directions, every shape, every refusal."""

import datetime as dt
import subprocess
import sys
import unittest

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl

from cases import CASES
from flight_server import connect, get, path_of, put
from kept import kept_table
from test_values import check_kept, table_of


class Flight(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.client = connect()
        self.addCleanup(self.client.close)


class Values(Flight):
    def test_of_every_type_come_back_as_they_went_in(self):
        for compression in (None, "lz4", "zstd"):
            options = fl.FlightCallOptions(write_options=pa.ipc.IpcWriteOptions(compression=compression))
            for case in CASES:
                with self.subTest(f"{case.name}, {compression or 'plain'}"):
                    table = table_of(case)
                    put(self.client, "flight-v", table, options=options)
                    check_kept(self, get(self.client, "flight-v"), table)


class Shapes(Flight):
    def round_trip(self, table, max_chunksize=None):
        put(self.client, "flight-shape", table, max_chunksize)
        back = get(self.client, "flight-shape")
        kept = kept_table(table)
        self.assertTrue(back.equals(kept, check_metadata=True), f"{back.schema} {kept.schema}")

    def test_no_rows(self):
        self.round_trip(pa.schema([("id", pa.int64()), ("s", pa.string()), ("l", pa.list_(pa.int8()))]).empty_table())

    def test_one_row(self):
        self.round_trip(pa.table({"id": [1], "s": ["ü"]}))

    def test_1000_columns(self):
        self.round_trip(pa.table({f"c{i}": pa.array([i, None, -i], pa.int32()) for i in range(1000)}))

    def test_many_batches(self):
        self.round_trip(pa.table({"id": range(10_000), "s": [f"text {i}" for i in range(10_000)]}), max_chunksize=7)

    def test_ten_million_rows(self):
        self.round_trip(pa.table({"id": pa.array(np.arange(10_000_000, dtype=np.int32))}))

    def test_dictionaries(self):
        texts = pa.array(["a", None, "b", "a"] * 1000).dictionary_encode()
        self.round_trip(pa.table({"s": texts, "id": range(4000)}), max_chunksize=100)

    def test_nested(self):
        rows = [{"a": i, "b": [f"x{i}", None], "c": {"d": [[i], []]}} if i % 3 else None for i in range(1000)]
        self.round_trip(pa.table({"v": rows}))


class Calls(Flight):
    table = pa.table({"id": [1, 2, 3]})

    def test_basic_authentication_gives_a_token_that_is_taken(self):
        header = self.client.authenticate_basic_token("any", "thing")
        self.assertEqual(header[0], b"authorization")
        options = fl.FlightCallOptions(headers=[header])
        put(self.client, "flight-c", self.table, options=options)
        self.assertEqual(self.client.get_flight_info(path_of("flight-c"), options).total_records, 3)

    def test_an_info_says_what_there_is_and_one_place_to_read_it(self):
        version = put(self.client, "flight-c", self.table)
        info = self.client.get_flight_info(path_of("flight-c"))
        self.assertEqual(info.schema, self.table.schema)
        self.assertEqual((info.total_records, info.app_metadata, info.ordered), (3, version, True))
        self.assertEqual(info.descriptor, path_of("flight-c"))
        (endpoint,) = info.endpoints
        self.assertEqual(endpoint.locations, [])
        self.assertGreater(endpoint.expiration_time.as_py(), dt.datetime.now(dt.timezone.utc))

    def test_a_schema(self):
        put(self.client, "flight-c", self.table)
        self.assertEqual(self.client.get_schema(path_of("flight-c")).schema, self.table.schema)

    def test_a_list_of_flights_by_the_beginning_of_their_names(self):
        for handle in ("flight-list-b", "flight-list-a"):
            put(self.client, handle, self.table)
        infos = list(self.client.list_flights(b"flight-list-"))
        self.assertEqual([info.descriptor.path for info in infos], [[b"flight-list-a"], [b"flight-list-b"]])
        self.assertEqual([info.total_records for info in infos], [3, 3])

    def test_a_second_put_replaces_the_first(self):
        put(self.client, "flight-c", self.table)
        put(self.client, "flight-c", self.table.slice(0, 1))
        self.assertEqual(get(self.client, "flight-c").num_rows, 1)

    def test_each_batch_with_metadata_is_acknowledged(self):
        batch = self.table.to_batches()[0]
        writer, reader = self.client.do_put(path_of("flight-acks"), self.table.schema)
        with writer:
            for number in range(3):
                writer.write_with_metadata(batch, f"batch {number}".encode())
                self.assertEqual(reader.read().to_pybytes(), f"batch {number}".encode())
            writer.write_batch(batch)
            writer.write_metadata(b"only metadata")
            self.assertEqual(reader.read().to_pybytes(), b"only metadata")
            writer.done_writing()
            version = reader.read().to_pybytes()
            self.assertIsNone(reader.read())
        info = self.client.get_flight_info(path_of("flight-acks"))
        self.assertEqual((info.app_metadata, info.total_records), (version, 4 * batch.num_rows))

    def test_acknowledgements_may_be_read_at_the_end(self):
        batch = self.table.to_batches()[0]
        writer, reader = self.client.do_put(path_of("flight-acks"), self.table.schema)
        with writer:
            for number in range(200):
                writer.write_with_metadata(batch, str(number).encode())
            writer.done_writing()
            results = [reader.read().to_pybytes() for _ in range(201)]
            self.assertIsNone(reader.read())
        self.assertEqual(results[:-1], [str(number).encode() for number in range(200)])

    def test_actions_are_listed(self):
        types = {action.type for action in self.client.list_actions()}
        self.assertTrue({"CreatePreparedStatement", "CancelFlightInfo", "CloseSession"} <= types, types)

    def test_a_flight_that_is_not_running_cannot_be_cancelled(self):
        put(self.client, "flight-c", self.table)
        info = self.client.get_flight_info(path_of("flight-c"))
        request = b"\n" + varint(len(info.serialize())) + info.serialize()
        (result,) = self.client.do_action(fl.Action("CancelFlightInfo", request))
        self.assertEqual(result.body.to_pybytes(), b"\x08\x03")


def varint(value):
    return bytes([value]) if value < 128 else bytes([value % 128 | 128]) + varint(value // 128)


class Refusals(Flight):
    def test_have_the_right_status_and_a_sentence(self):
        forged = fl.Ticket(b"flight-c")
        for name, error, message, call in [
            ("unknown", KeyError, 'There is no frame "nope"', lambda: get(self.client, "nope")),
            ("two parts", pa.ArrowInvalid, '"a/b"', lambda: self.client.get_flight_info(path_of("a", "b"))),
            ("bad handle", pa.ArrowInvalid, "is not a valid handle", lambda: put(self.client, "..", Calls.table)),
            ("forged ticket", pa.ArrowInvalid, "ticket", lambda: self.client.do_get(forged).read_all()),
            ("exchange", NotImplementedError, "DoExchange", self.exchange),
            ("action", NotImplementedError, '"dance"', lambda: list(self.client.do_action("dance"))),
            ("same name", pa.ArrowInvalid, '"a"', lambda: put(self.client, "flight-r", same_names())),
            ("union", pa.ArrowInvalid, "does not support", lambda: put(self.client, "flight-r", union())),
        ]:
            with self.subTest(name), self.assertRaises(error) as raised:
                call()
            self.assertIn(message, str(raised.exception))

    def exchange(self):
        writer, reader = self.client.do_exchange(path_of("x"))
        with writer:
            writer.done_writing()
            reader.read_all()

    def test_a_deadline_that_passes_is_a_timeout(self):
        with self.assertRaises(fl.FlightTimedOutError):
            writer, _ = self.client.do_put(path_of("flight-late"), Calls.table.schema, fl.FlightCallOptions(timeout=0.2))
            with writer:
                while True:
                    writer.write_table(Calls.table)
        self.assertEqual(list(self.client.list_flights(b"flight-late")), [])

    def test_a_client_that_vanishes_leaves_nothing(self):
        with subprocess.Popen([sys.executable, "-c", VANISHING], stdout=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"sent\n")
            process.kill()
        self.assertEqual(list(self.client.list_flights(b"flight-half")), [])


VANISHING = """
import time
import pyarrow as pa
from flight_server import connect, path_of
table = pa.table({"id": range(1_000_000)})
client = connect()
writer, _ = client.do_put(path_of("flight-half"), table.schema)
writer.write_table(table)
print("sent", flush=True)
time.sleep(60)
"""


def same_names():
    return pa.table([[1], [2]], names=["a", "a"])


def union():
    array = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])
    return pa.table({"u": array})
