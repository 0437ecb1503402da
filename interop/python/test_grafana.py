"""The calls that Grafana's Flight SQL plugin makes, replayed with the messages it sends."""

import unittest

import pyarrow as pa
import pyarrow.flight as fl

from flight_server import connect, put

TRADES = pa.table({"id": pa.array([1, 2], pa.int64()), "time": pa.array([0, 1_000_001], pa.timestamp("us"))})


def field(number, value):
    """A field of a protobuf message, shorter than 128 bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def command(name, message=b""):
    kind = f"type.googleapis.com/arrow.flight.protocol.sql.{name}".encode()
    return fl.FlightDescriptor.for_command(field(1, kind) + field(2, message))


class Grafana(unittest.TestCase):
    def setUp(self):
        self.client = connect()
        self.addCleanup(self.client.close)
        put(self.client, "grafana_trades", TRADES)
        # As the data source does if it has a name and a password.
        self.options = fl.FlightCallOptions(headers=[self.client.authenticate_basic_token("any", "thing")], timeout=30)

    def ask(self, descriptor):
        info = self.client.get_flight_info(descriptor, self.options)
        # The plugin accepts exactly one endpoint.
        (endpoint,) = info.endpoints
        return self.client.do_get(endpoint.ticket, self.options).read_all()

    def test_checks_that_the_server_is_there(self):
        self.assertEqual(self.ask(command("CommandStatementQuery", field(1, b"select 1"))).num_rows, 1)

    def test_queries(self):
        sql = b"SELECT time, id FROM grafana_trades WHERE time >= '1970-01-01T00:00:01Z' ORDER BY time"
        answer = self.ask(command("CommandStatementQuery", field(1, sql)))
        self.assertTrue(answer.equals(TRADES.slice(1).select(["time", "id"])), answer)

    def test_lists_tables(self):
        types = field(4, b"BASE TABLE") + field(4, b"table")
        answer = self.ask(command("CommandGetTables", types))
        self.assertIn("grafana_trades", answer.column("table_name").to_pylist())

    def test_lists_the_columns_of_a_table(self):
        # A pattern for the name, and include_schema.
        answer = self.ask(command("CommandGetTables", field(3, b"grafana_trades") + bytes([5 << 3, 1])))
        (schema,) = answer.column("table_schema").to_pylist()
        self.assertEqual(pa.ipc.read_schema(pa.py_buffer(schema)).names, ["id", "time"])

    def test_asks_for_all_there_is_to_know_of_the_server(self):
        self.assertGreater(self.ask(command("CommandGetSqlInfo")).num_rows, 0)

    def test_says_what_is_wrong_with_a_query(self):
        with self.assertRaisesRegex(pa.ArrowInvalid, 'There is no frame "nope"'):
            self.ask(command("CommandStatementQuery", field(1, b"SELECT * FROM nope")))
