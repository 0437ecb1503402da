"""Flight SQL through ADBC and polars against the server."""

import datetime as dt
import decimal
import unittest
import uuid

import adbc_driver_flightsql.dbapi as dbapi
import adbc_driver_manager
import polars as pl
import pyarrow as pa
import pyarrow.flight as fl

from cases import CASES
from flight_server import GRPC, connect, get, put
from test_values import bits, table_of

TRADES = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "symbol": ["BTC", "ETH", None],
        "price": [64250.5, 3120.25, None],
        "at": pa.array([0, 1_000_001, None], pa.timestamp("us")),
    }
)


def field_of(number, value):
    """A field of bytes of a protobuf message, shorter than 16 KiB."""
    length = len(value)
    return bytes([number << 3 | 2, *([length] if length < 128 else [length & 127 | 128, length >> 7])]) + value


def first_fields(message):
    """The first fields of a protobuf message by their numbers, as long as they are bytes."""
    fields, at = {}, 0
    while at < len(message) and message[at] & 7 == 2:
        number, length, shift, at = message[at] >> 3, 0, 0, at + 1
        while message[at] & 128:
            length, shift, at = length | (message[at] & 127) << shift, shift + 7, at + 1
        length, at = length | message[at] << shift, at + 1
        fields[number], at = message[at : at + length], at + length
    return fields


def packed(name, value):
    """A message of Flight SQL whose field 1 has this value, in an Any."""
    return field_of(1, f"type.googleapis.com/arrow.flight.protocol.sql.{name}".encode()) + field_of(2, field_of(1, value))


def echo_by_flight(values, version=pa.ipc.MetadataVersion.V5):
    """The value that a prepared statement returns for a parameter, through the Flight client."""
    options = fl.FlightCallOptions(write_options=pa.ipc.IpcWriteOptions(metadata_version=version))
    with connect() as client:
        create = fl.Action("CreatePreparedStatement", packed("ActionCreatePreparedStatementRequest", b"SELECT ? AS x"))
        (result,) = client.do_action(create)
        handle = first_fields(first_fields(result.body.to_pybytes())[2])[1]
        descriptor = fl.FlightDescriptor.for_command(packed("CommandPreparedStatementQuery", handle))
        bound = pa.record_batch([values], names=["0"])
        writer, reader = client.do_put(descriptor, bound.schema, options)
        with writer:
            writer.write_batch(bound)
            writer.done_writing()
            reader.read()
        info = client.get_flight_info(descriptor)
        return client.do_get(info.endpoints[0].ticket).read_all()["x"][0].as_py()


class FlightSql(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.connection = dbapi.connect(GRPC, autocommit=True)
        self.addCleanup(self.connection.close)
        self.cursor = self.connection.cursor()
        self.addCleanup(self.cursor.close)
        self.cursor.adbc_ingest("sql_trades", TRADES, mode="replace")

    def query(self, sql, parameters=None):
        self.cursor.execute(sql, parameters)
        return self.cursor.fetch_arrow_table()

    def refusal(self, sql, parameters=None):
        with self.assertRaises(dbapi.Error) as raised:
            self.query(sql, parameters)
        return raised.exception


def dense(codes, offsets, children, type_codes=None):
    """A dense union with these type codes."""
    return pa.UnionArray.from_dense(pa.array(codes, pa.int8()), pa.array(offsets, pa.int32()), children, type_codes=type_codes)


def sparse(codes, children, type_codes=None):
    return pa.UnionArray.from_sparse(pa.array(codes, pa.int8()), children, type_codes=type_codes)


# The types that a server announces for parameters it does not know the type of, as the SQLite server of Arrow does.
STRING, BYTES, LONG, DOUBLE = (pa.array([], type) for type in (pa.string(), pa.binary(), pa.int64(), pa.float64()))


class Unions(FlightSql):
    def setUp(self):
        super().setUp()
        self.query("CREATE OR REPLACE TABLE sql_unions (id BIGINT, name TEXT)")
        self.addCleanup(self.query, "DROP TABLE IF EXISTS sql_unions")

    def kept(self):
        rows = self.query("SELECT id, name FROM sql_unions").to_pylist()
        return [(row["id"], row["name"]) for row in rows]

    def insert(self, *columns):
        """Binds the rows of union columns, as `executemany` does; chunks become batches."""
        table = pa.table([pa.chunked_array(chunks) for chunks in columns], names=["0", "1"])
        self.cursor.executemany("INSERT INTO sql_unions VALUES (?, ?)", table)

    def test_are_bound_as_parameters(self):
        long, text, double = pa.array([1, None]), pa.array(["a"]), pa.array([1.5])
        for values, want in (
            (dense([2], [0], [STRING, BYTES, long, DOUBLE]), 1),
            (dense([2], [1], [STRING, BYTES, long, DOUBLE]), None),
            (dense([3], [0], [STRING, BYTES, LONG, double]), 1.5),
            (dense([100], [0], [long, text], [7, 100]), "a"),
            (sparse([7], [long[:1], text], [7, 100]), 1),
            (dense([0], [0], [pa.array(["a"]).dictionary_encode(), long]), "a"),
            (dense([0], [0], [pa.array([[1, 2, None]]), text]), [1, 2, None]),
            (dense([0], [0], [pa.array([decimal.Decimal("1.50")]), text]), decimal.Decimal("1.50")),
        ):
            with self.subTest(values=values):
                bound = pa.record_batch([values], names=["0"])
                self.assertEqual(self.query("SELECT ? AS x", bound).to_pylist(), [{"x": want}])

    def test_are_inserted_in_one_append(self):
        long, text = pa.array([1, 2, None]), pa.array(["a", None])
        ids = dense([2, 2, 2], [0, 1, 2], [STRING, BYTES, long, DOUBLE])
        names = dense([0, 0, 2], [0, 1, 0], [text, BYTES, pa.array([None], pa.int64()), DOUBLE])
        empty = dense([], [], [STRING, BYTES, LONG, DOUBLE])
        self.insert([ids, empty, ids], [names, empty, names])
        self.assertEqual(self.cursor.rowcount, 6)
        self.assertEqual(self.kept(), 2 * [(1, "a"), (2, None), (None, None)])

    def test_that_are_slices_have_their_rows_only(self):
        # The ADBC driver cannot write slices of unions, so bind them with the Flight client.
        long, text = pa.array([1, 2]), pa.array(["a"])
        for values in (
            dense([0, 1, 0], [0, 0, 1], [long, text]),
            sparse([0, 1, 0], [pa.array([1, 0, 2]), pa.array([None, "a", None])]),
        ):
            for row, want in enumerate([1, "a", 2]):
                with self.subTest(values=values, row=row):
                    self.assertEqual(echo_by_flight(values.slice(row, 1)), want)
                    # Until version V4 of the format, unions had a validity bitmap.
                    self.assertEqual(echo_by_flight(values.slice(row, 1), pa.ipc.MetadataVersion.V4), want)

    def test_of_several_types_get_one_that_holds_them_all(self):
        small, long = pa.array([1, 2], pa.int8()), pa.array([2**62], pa.int64())
        ids = dense([0, 1, 0], [0, 0, 1], [small, long])
        names = sparse([0, 1, 0], [pa.array(["a", "b", None]), pa.array(["x", "y", "z"]).dictionary_encode()])
        self.insert([ids], [names])
        self.assertEqual(self.kept(), [(1, "a"), (2**62, "y"), (2, None)])

    def test_whose_values_would_change_are_refused(self):
        names = dense([0, 0], [0, 0], [pa.array(["a"])])
        for children, message in (
            ([pa.array([1]), pa.array(["b"])], r'The union "0" has values of several types \(LONG, STRING\)'),
            ([pa.array([0.5]), pa.array([2**53 + 1])], 'Row 2 of the union "0": 9007199254740993 is not exactly a DOUBLE'),
        ):
            with self.assertRaisesRegex(dbapi.Error, message):
                self.insert([dense([0, 1], [0, 0], children)], [names])
        self.assertEqual(self.kept(), [])

    def test_inside_of_lists_are_refused(self):
        values = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), dense([0], [0], [pa.array([1])]))
        for sql in ("SELECT ? AS x", "INSERT INTO sql_unions (id) VALUES (?)"):
            error = self.refusal(sql, pa.record_batch([values], names=["0"]))
            self.assertRegex(str(error), 'Parameter "0" contains the Arrow type union.*Bind it in a column of one type')


class Lists(FlightSql):
    def test_are_bound_as_parameters(self):
        day = dt.date(2024, 1, 2)
        at = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
        for values in (
            [1, None, 2**62],
            [1.5, float("inf"), None, -0.0],
            ["a, b", 'q"x', "NULL", None, "", "\\n\n", "[x]", "it's", " s ", "😀"],
            [True, None],
            [decimal.Decimal("1.50"), None],
            [day, None],
            [at],
            [b"\x00\xff'\\", None],
            [[1, 2], [], None],
            [["a", '"'], ["["]],
        ):
            with self.subTest(values):
                self.assertEqual(self.query("SELECT ? AS x", (values,))["x"].to_pylist(), [values])

    def test_select_rows(self):
        table = self.query("SELECT id FROM sql_trades WHERE list_contains(?, id) ORDER BY id", ([3, 1, 7],))
        self.assertEqual(table["id"].to_pylist(), [1, 3])

    def test_that_are_empty_are_bound(self):
        self.assertEqual(self.query("SELECT len(?) AS n", ([],))["n"].to_pylist(), [0])


class Queries(FlightSql):
    def test_answer_rows(self):
        table = self.query("SELECT symbol, price * 2 AS twice FROM sql_trades WHERE id < 3 ORDER BY id")
        self.assertEqual(table.to_pydict(), {"symbol": ["BTC", "ETH"], "twice": [128501.0, 6240.5]})

    def test_answer_the_columns_of_no_rows(self):
        self.assertEqual(self.query("SELECT * FROM sql_trades WHERE false").schema, TRADES.schema)

    def test_name_tables_with_their_catalogue_and_schema(self):
        self.assertEqual(self.query("SELECT count(*) AS n FROM memory.main.sql_trades").to_pylist(), [{"n": 3}])

    def test_of_128_bits_uuids_and_intervals_keep_the_value(self):
        table = self.query("SELECT 170141183460469231731687303715884105727::HUGEINT AS h, sum(id) AS s FROM sql_trades")
        self.assertEqual(int(table["h"][0].as_py()), 2**127 - 1)
        self.assertEqual(int(table["s"][0].as_py()), 6)
        text = "01234567-89ab-cdef-0123-456789abcdef"
        value = self.query(f"SELECT '{text}'::UUID AS u")["u"]
        self.assertEqual(value.type.extension_name, "arrow.uuid")
        self.assertEqual(value[0].as_py(), uuid.UUID(text))
        interval = self.query("SELECT INTERVAL '14 months 3 days 1.5 seconds' AS i")["i"]
        self.assertEqual(interval.type, pa.month_day_nano_interval())
        self.assertEqual(tuple(interval[0].as_py()), (14, 3, 1_500_000_000))

    def test_of_every_type_answer_what_was_put(self):
        client = connect()
        self.addCleanup(client.close)
        for case in CASES:
            # SQL does not have these types: they become texts and intervals.
            if case.name in ("decimal of negative scale", "decimal256") or pa.types.is_duration(case.column.type):
                continue
            with self.subTest(case.name):
                put(client, "sql-v", table_of(case))
                answer = self.query('SELECT v FROM "sql-v" ORDER BY i')["v"]
                self.assertEqual(bits(answer), bits(get(client, "sql-v")["v"]))

    def test_that_fail_say_so(self):
        self.assertIn("nope", str(self.refusal("SELECT * FROM nope")))
        self.assertIsInstance(self.refusal("SELEC 1"), dbapi.ProgrammingError)
        self.assertIn("Could not convert string 'x'", str(self.refusal("SELECT 'x'::INT")))
        self.assertEqual(
            self.refusal("SELECT * FROM read_csv('/etc/passwd')").status_code,
            adbc_driver_manager.AdbcStatusCode.UNAUTHORIZED,
        )
        self.assertEqual(
            self.refusal("DELETE FROM sql_trades").status_code, adbc_driver_manager.AdbcStatusCode.UNAUTHORIZED
        )

    def test_can_be_cancelled(self):
        self.cursor.execute("SELECT * FROM range(1000000000)")
        self.cursor.adbc_cancel()
        with self.assertRaises(dbapi.Error):
            self.cursor.fetchall()

    def test_can_be_read_by_polars(self):
        frame = pl.read_database("SELECT id, price FROM sql_trades ORDER BY id", self.connection)
        self.assertEqual(frame.to_dict(as_series=False), {"id": [1, 2, 3], "price": [64250.5, 3120.25, None]})

    def test_can_be_read_by_pandas(self):
        self.cursor.execute("SELECT id, symbol FROM sql_trades ORDER BY id")
        self.assertEqual(list(self.cursor.fetch_df()["id"]), [1, 2, 3])

    def test_stream(self):
        self.cursor.execute("SELECT range AS i, range * 0.5 AS x FROM range(3000000)")
        rows = 0
        for batch in self.cursor.fetch_record_batch():
            rows += batch.num_rows
            self.assertLess(batch.nbytes, 4 << 20)
        self.assertEqual(rows, 3_000_000)


class Parameters(FlightSql):
    def test_of_every_kind_arrive(self):
        moment = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
        for value, sql in [
            (None, "SELECT ? IS NULL AS same"),
            (True, "SELECT ? = true AS same"),
            (2**53 + 1, "SELECT ? = 9007199254740993 AS same"),
            (-(2**63), "SELECT ? = -9223372036854775808 AS same"),
            (1.5, "SELECT ? = 1.5 AS same"),
            (float("nan"), "SELECT isnan(?::DOUBLE) AS same"),
            (float("inf"), "SELECT isinf(?::DOUBLE) AS same"),
            ("ü'; DROP", "SELECT ? = 'ü''; DROP' AS same"),
            ("", "SELECT ? = '' AS same"),
            (b"\x00\xff", "SELECT ? = '\\x00\\xFF'::BLOB AS same"),
            (decimal.Decimal("-1.10"), "SELECT ? = -1.10 AS same"),
            (moment.date(), "SELECT ? = DATE '2024-01-02' AS same"),
            (moment, "SELECT ? = TIMESTAMP '2024-01-02 03:04:05.678901' AS same"),
            (moment.time(), "SELECT ? = TIME '03:04:05.678901' AS same"),
            (moment.replace(tzinfo=dt.timezone.utc), "SELECT ? = TIMESTAMPTZ '2024-01-02 03:04:05.678901+00' AS same"),
        ]:
            with self.subTest(repr(value)):
                self.assertEqual(self.query(sql, (value,)).to_pylist(), [{"same": True}])

    def test_that_are_moments_arrive_exactly_in_every_unit(self):
        for kind, value, text in [
            (pa.timestamp("s"), 1704164645, "2024-01-02 03:04:05"),
            (pa.timestamp("ms"), 1704164645678, "2024-01-02 03:04:05.678"),
            (pa.timestamp("us"), 1704164645678901, "2024-01-02 03:04:05.678901"),
            (pa.timestamp("ns"), 1704164645678901234, "2024-01-02 03:04:05.678901234"),
            (pa.timestamp("us"), -1, "1969-12-31 23:59:59.999999"),
            (pa.timestamp("us"), None, None),
            (pa.timestamp("ms", "UTC"), 1704164645678, "2024-01-02 03:04:05.678+00"),
            (pa.timestamp("us", "UTC"), -1, "1969-12-31 23:59:59.999999+00"),
            (pa.time32("s"), 11045, "03:04:05"),
            (pa.time32("ms"), 11045678, "03:04:05.678"),
            (pa.time64("us"), 11045678901, "03:04:05.678901"),
            (pa.date32(), -1, "1969-12-31"),
            (pa.date64(), 86_400_000, "1970-01-02"),
        ]:
            with self.subTest(f"{kind} {value}"):
                values = pa.table({"1": pa.array([value], kind)})
                answer = self.query("SELECT v::VARCHAR AS v FROM (SELECT ? AS v)", values)
                self.assertEqual(answer.to_pylist(), [{"v": text}])

    def test_can_be_many_and_change(self):
        sql = "SELECT id FROM sql_trades WHERE id >= ? AND price > $2 ORDER BY id".replace("$2", "?")
        self.assertEqual(self.query(sql, (1, 5000.0))["id"].to_pylist(), [1])
        self.assertEqual(self.query(sql, (2, 0.0))["id"].to_pylist(), [2])

    def test_have_types_where_the_statement_says_which(self):
        self.assertEqual(self.cursor.adbc_prepare("SELECT * FROM sql_trades WHERE id = ?").types, [pa.int64()])
        self.assertIsNone(self.cursor.adbc_prepare("SELECT 1"))

    def test_that_are_missing_are_refused(self):
        self.assertIn("1 parameter,", str(self.refusal("SELECT ? AS a")))


class Updates(FlightSql):
    def setUp(self):
        super().setUp()
        self.query("DROP TABLE IF EXISTS sql_kept")

    def test_create_replace_and_drop_tables(self):
        self.query("CREATE TABLE sql_kept AS SELECT id FROM sql_trades")
        self.assertEqual(self.query("SELECT count(*) AS n FROM sql_kept").to_pylist(), [{"n": 3}])
        again = self.refusal("CREATE TABLE sql_kept AS SELECT 1 AS id")
        self.assertEqual(again.status_code, adbc_driver_manager.AdbcStatusCode.ALREADY_EXISTS)
        self.query("CREATE OR REPLACE TABLE sql_kept AS SELECT 1 AS id")
        self.assertEqual(self.query("SELECT * FROM sql_kept").to_pylist(), [{"id": 1}])
        self.query("DROP TABLE sql_kept")
        self.assertEqual(
            self.refusal("DROP TABLE sql_kept").status_code, adbc_driver_manager.AdbcStatusCode.NOT_FOUND
        )

    def test_answer_before_the_client_ends_the_call(self):
        query = b"CREATE TABLE sql_kept AS SELECT id FROM sql_trades"
        command = packed("CommandStatementUpdate", query)
        options = fl.FlightCallOptions(timeout=10)
        with connect() as client:
            writer, reader = client.do_put(fl.FlightDescriptor.for_command(command), pa.schema([]), options)
            result = reader.read().to_pybytes()
            writer.close()
        # DoPutUpdateResult with the count of rows as its field 1.
        self.assertEqual(result, b"\x08\x03")
        self.assertEqual(self.query("SELECT count(*) AS n FROM sql_kept").to_pylist(), [{"n": 3}])

    def test_take_parameters(self):
        self.query("CREATE TABLE sql_kept AS SELECT id FROM sql_trades WHERE id > ?", (1,))
        self.assertEqual(self.query("SELECT count(*) AS n FROM sql_kept").to_pylist(), [{"n": 2}])

    def test_insert_rows_in_the_types_of_the_table(self):
        self.query("CREATE TABLE sql_kept (id BIGINT, name TEXT, at TIMESTAMP)")
        at = dt.datetime(2024, 1, 2, 3, 4, 5, 678)
        sql = "INSERT INTO sql_kept (name, id, at) VALUES (?, ?, ?)"
        self.cursor.executemany(sql, [("a", 1, at), (None, 2, None)])
        self.assertEqual(self.cursor.rowcount, 2)
        self.query("INSERT INTO sql_kept (id) VALUES (?)", (3,))
        self.query("INSERT INTO sql_kept VALUES (4, 'd', '2024-01-02 03:04:05.000678')")
        self.assertEqual(
            self.query("SELECT * FROM sql_kept ORDER BY id").to_pylist(),
            [
                {"id": 1, "name": "a", "at": at},
                {"id": 2, "name": None, "at": None},
                {"id": 3, "name": None, "at": None},
                {"id": 4, "name": "d", "at": at},
            ],
        )
        self.assertIn('Row 1, column "id": 1.5', str(self.refusal("INSERT INTO sql_kept VALUES (1.5, NULL, NULL)")))
        self.assertIn("CREATE OR REPLACE TABLE", str(self.refusal("DELETE FROM sql_kept")))
        self.assertEqual(self.query("SELECT count(*) AS n FROM sql_kept").to_pylist(), [{"n": 4}])

    def test_ingest_creates_appends_and_replaces(self):
        ingest = lambda mode: self.cursor.adbc_ingest("sql_kept", TRADES, mode=mode)
        rows = lambda: self.query("SELECT count(*) AS n FROM sql_kept")["n"][0].as_py()
        with self.assertRaises(dbapi.Error) as raised:
            ingest("append")
        self.assertEqual(raised.exception.status_code, adbc_driver_manager.AdbcStatusCode.NOT_FOUND)
        self.assertEqual((ingest("create"), rows()), (3, 3))
        with self.assertRaises(dbapi.Error) as raised:
            ingest("create")
        self.assertEqual(raised.exception.status_code, adbc_driver_manager.AdbcStatusCode.ALREADY_EXISTS)
        self.assertEqual((ingest("append"), rows()), (3, 6))
        self.assertEqual((ingest("create_append"), rows()), (3, 9))
        self.assertEqual((ingest("replace"), rows()), (3, 3))

    def test_polars_writes_and_reads(self):
        frame = pl.DataFrame({"id": [1, 2], "name": ["a", None]})
        frame.write_database("sql_kept", self.connection, if_table_exists="replace", engine="adbc")
        self.assertEqual(pl.read_database("SELECT * FROM sql_kept", self.connection).rows(), frame.rows())


class Metadata(FlightSql):
    def test_lists_tables_with_their_columns(self):
        objects = self.connection.adbc_get_objects(depth="all", table_name_filter="sql\\_trades").read_all().to_pylist()
        (catalog,) = objects
        (schema,) = catalog["catalog_db_schemas"]
        (table,) = schema["db_schema_tables"]
        self.assertEqual(
            (catalog["catalog_name"], schema["db_schema_name"], table["table_name"], table["table_type"]),
            ("memory", "main", "sql_trades", "table"),
        )
        self.assertEqual([column["column_name"] for column in table["table_columns"]], TRADES.schema.names)

    def test_knows_the_schema_of_a_table(self):
        self.assertEqual(self.connection.adbc_get_table_schema("sql_trades"), TRADES.schema)
        self.assertEqual(self.connection.adbc_get_table_types(), ["table"])

    def test_says_what_the_server_is(self):
        info = self.connection.adbc_get_info()
        self.assertEqual(info["vendor_name"], "Data-frame server (DuckDB)")

    def test_knows_one_catalogue_and_one_schema(self):
        self.assertEqual(self.connection.adbc_current_catalog, "memory")
        self.assertEqual(self.connection.adbc_current_db_schema, "main")
        self.connection.adbc_current_db_schema = "main"
        with self.assertRaises(dbapi.Error):
            self.connection.adbc_current_db_schema = "other"

    def test_has_no_transactions(self):
        with self.assertWarnsRegex(Warning, "Cannot disable autocommit"):
            dbapi.connect(GRPC).close()

    def test_takes_any_name_and_password(self):
        options = {
            adbc_driver_manager.DatabaseOptions.USERNAME.value: "any",
            adbc_driver_manager.DatabaseOptions.PASSWORD.value: "thing",
        }
        with dbapi.connect(GRPC, db_kwargs=options, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            self.assertEqual(cursor.fetchall(), [(1,)])
