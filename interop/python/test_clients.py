"""Programs that use their clients as their own documentation shows it, unmodified. What they show is in docs/clients.md."""

import datetime as dt
import decimal

import adbc_driver_flightsql.dbapi as dbapi
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.flight as fl
import sqlalchemy as sa
import sqlalchemy.orm

from clients import ClientTest, lacks, record, works
from flight_server import GRPC

ADBC = ("adbc-driver-flightsql", "adbc-driver-manager")


def tearDownModule():
    record()


class Connected(ClientTest):
    def setUp(self):
        self.connection = dbapi.connect(GRPC, autocommit=True)
        self.addCleanup(self.connection.close)

    def rows(self, sql, parameters=None):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall()

    def run_sql(self, *statements):
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)


class PyarrowFlight(ClientTest):
    client = "pyarrow.flight"
    packages = ("pyarrow",)

    @works("put, read and list frames as Arrow")
    def test_frames(self):
        table = pa.table({"id": [1, 2], "name": ["a", None]})
        with fl.FlightClient(GRPC) as client:
            writer, _ = client.do_put(fl.FlightDescriptor.for_path("pyarrow_t"), table.schema)
            with writer:
                writer.write_table(table)
            info = client.get_flight_info(fl.FlightDescriptor.for_path("pyarrow_t"))
            self.assertEqual(client.do_get(info.endpoints[0].ticket).read_all(), table)
            self.assertIn([b"pyarrow_t"], [flight.descriptor.path for flight in client.list_flights()])

    @lacks("DoExchange")
    def test_exchange(self):
        with fl.FlightClient(GRPC) as client, self.assertRaises(NotImplementedError):
            writer, reader = client.do_exchange(fl.FlightDescriptor.for_path("pyarrow_t"))
            with writer:
                writer.done_writing()
                reader.read_all()


class Adbc(Connected):
    client = "ADBC for Python"
    packages = ADBC

    @works("queries with parameters, lists among them")
    def test_query(self):
        self.assertEqual(self.rows("SELECT ? + 1, list_sum(?)", (41, [1, 2])), [(42, 3)])

    @works("`CREATE TABLE`, `INSERT`, `executemany`, `DROP TABLE`")
    def test_statements(self):
        self.run_sql("DROP TABLE IF EXISTS adbc_t", "CREATE TABLE adbc_t (id BIGINT, time TIMESTAMP, price DECIMAL(10,2))")
        with self.connection.cursor() as cursor:
            at = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
            cursor.executemany("INSERT INTO adbc_t VALUES (?, ?, ?)", [(i, at, decimal.Decimal("1.50")) for i in range(1000)])
        self.assertEqual(self.rows("SELECT count(*), max(time), sum(price) FROM adbc_t"), [(1000, at, decimal.Decimal("1500.00"))])
        self.run_sql("DROP TABLE adbc_t")

    @works("bulk ingest: create, append, replace")
    def test_ingest(self):
        table = pa.table({"id": [1, 2]})
        with self.connection.cursor() as cursor:
            for mode, count in (("replace", 2), ("append", 4), ("create_append", 6)):
                cursor.adbc_ingest("adbc_in", table, mode=mode)
                self.assertEqual(self.rows("SELECT count(*) FROM adbc_in"), [(count,)])

    def test_a_result_is_ingested_without_the_metadata_of_a_result(self):
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT 1::BIGINT AS id, 'x' AS name")
            result = cursor.fetch_arrow_table()
            self.assertIn(b"ARROW:FLIGHT:SQL:TYPE_NAME", result.schema.field("id").metadata)
            cursor.adbc_ingest("adbc_r", result, mode="replace")
        with fl.FlightClient(GRPC) as client:
            info = client.get_flight_info(fl.FlightDescriptor.for_path("adbc_r"))
            self.assertIsNone(client.do_get(info.endpoints[0].ticket).read_all().schema.field("id").metadata)

    @works("`adbc_get_objects`, `adbc_get_table_schema`, `adbc_get_info`")
    def test_metadata(self):
        self.run_sql("CREATE OR REPLACE TABLE adbc_m (id BIGINT, name TEXT)")
        objects = self.connection.adbc_get_objects(table_name_filter="adbc_m").read_all().to_pylist()
        [table] = objects[0]["catalog_db_schemas"][0]["db_schema_tables"]
        self.assertEqual([column["column_name"] for column in table["table_columns"]], ["id", "name"])
        schema = self.connection.adbc_get_table_schema("adbc_m")
        self.assertEqual(schema.field("id").metadata[b"ARROW:FLIGHT:SQL:TYPE_NAME"], b"BIGINT")
        self.assertRegex(self.connection.adbc_get_info()["vendor_version"], r"^\d+\.\d+\.\d+ \(DuckDB \d")

    @lacks("transactions: each statement is committed by itself")
    def test_transactions(self):
        with self.assertWarnsRegex(Warning, "Cannot disable autocommit"):
            dbapi.connect(GRPC).close()

    @lacks("`UPDATE`, `DELETE`")
    def test_changes(self):
        self.run_sql("CREATE OR REPLACE TABLE adbc_u (id BIGINT)")
        for statement in ("UPDATE adbc_u SET id = 1", "DELETE FROM adbc_u"):
            with self.assertRaisesRegex(dbapi.Error, "rows of a frame do not change"):
                self.run_sql(statement)


class Pandas(Connected):
    client = "pandas"
    packages = ("pandas", "adbc-driver-flightsql")
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "name": ["a", None],
            "at": pd.to_datetime(["2024-01-02 03:04:05.678901", "2024-01-03 00:00:00.000001"]),
            "price": [1.5, None],
        }
    )

    @works('`to_sql` with `if_exists="fail"`, `"replace"` and `"append"`')
    def test_to_sql(self):
        self.run_sql("DROP TABLE IF EXISTS pandas_t")
        self.assertEqual(self.frame.to_sql("pandas_t", self.connection, index=False), 2)
        with self.assertRaisesRegex(ValueError, "Table 'pandas_t' already exists"):
            self.frame.to_sql("pandas_t", self.connection, index=False)
        for mode, count in (("append", 4), ("replace", 2)):
            self.frame.to_sql("pandas_t", self.connection, index=False, if_exists=mode)
            self.assertEqual(self.rows("SELECT count(*) FROM pandas_t"), [(count,)])
        self.frame.rename_axis("place").to_sql("pandas_i", self.connection, if_exists="replace")
        self.assertEqual(self.rows("SELECT place, id FROM pandas_i ORDER BY place"), [(0, 1), (1, 2)])

    @works("`read_sql`, `read_sql_query`, `read_sql_table`")
    def test_read_sql(self):
        self.frame.to_sql("pandas_r", self.connection, index=False, if_exists="replace")
        read = pd.read_sql("SELECT * FROM pandas_r ORDER BY id", self.connection, dtype_backend="pyarrow")
        self.assertEqual(read["at"].tolist(), self.frame["at"].tolist())
        self.assertEqual(pd.read_sql_query("SELECT id FROM pandas_r", self.connection).shape, (2, 1))
        self.assertEqual(pd.read_sql("pandas_r", self.connection).shape, (2, 4))
        self.assertEqual(pd.read_sql_table("pandas_r", self.connection).shape, (2, 4))

    @lacks("`params` and `chunksize` of `read_sql`: pandas does not pass them to ADBC; SQLAlchemy does")
    def test_params(self):
        for options in ({"params": (1,)}, {"chunksize": 1}):
            with self.assertRaisesRegex(NotImplementedError, "not implemented for ADBC drivers"):
                pd.read_sql("SELECT ?", self.connection, **options)

    @lacks('`to_sql(if_exists="delete_rows")`')
    def test_delete_rows(self):
        self.frame.to_sql("pandas_d", self.connection, index=False, if_exists="replace")
        with self.assertRaisesRegex(pd.errors.DatabaseError, "DELETE is not supported"):
            self.frame.to_sql("pandas_d", self.connection, index=False, if_exists="delete_rows")


class Polars(Connected):
    client = "polars"
    packages = ("polars", "adbc-driver-flightsql")
    frame = pl.DataFrame({"id": [1, 2], "name": ["a", None], "at": [dt.datetime(2024, 1, 2), None], "l": [[1], [2, 3]]})

    def write(self, name, mode):
        return self.frame.write_database(name, connection=self.connection, engine="adbc", if_table_exists=mode)

    @works('`write_database(engine="adbc")`: fail, replace, append')
    def test_write(self):
        self.run_sql("DROP TABLE IF EXISTS polars_t")
        self.assertEqual(self.write("polars_t", "fail"), 2)
        with self.assertRaisesRegex(dbapi.Error, "already exists"):
            self.write("polars_t", "fail")
        for mode, count in (("append", 4), ("replace", 2)):
            self.write("polars_t", mode)
            self.assertEqual(self.rows("SELECT count(*) FROM polars_t"), [(count,)])

    @works("`read_database` with parameters, whole or in batches; `read_database_uri`")
    def test_read(self):
        self.write("polars_r", "replace")
        self.assertTrue(pl.read_database("SELECT * FROM polars_r ORDER BY id", self.connection).equals(self.frame))
        options = {"parameters": [2]}
        read = pl.read_database("SELECT name FROM polars_r WHERE id = ?", self.connection, execute_options=options)
        self.assertEqual(read["name"].to_list(), [None])
        batches = pl.read_database("FROM polars_r", self.connection, iter_batches=True, batch_size=1)
        self.assertEqual(sum(batch.height for batch in batches), 2)
        uri = f"flightsql://{GRPC.removeprefix('grpc://')}?transport=tcp"
        with self.assertWarnsRegex(Warning, "Cannot disable autocommit"):
            self.assertEqual(pl.read_database_uri("SELECT 42 AS x", uri, engine="adbc")["x"].to_list(), [42])


class SqlAlchemy(ClientTest):
    client = "SQLAlchemy"
    packages = ("sqlalchemy", "sqlalchemy-adbc", "adbc-driver-flightsql")

    def setUp(self):
        address = GRPC.removeprefix("grpc://")
        self.engine = sa.create_engine(f"adbc+flightsql://{address}?tls=false", connect_args={"autocommit": True})
        self.addCleanup(self.engine.dispose)
        self.metadata = sa.MetaData()
        self.table = sa.Table(
            "alchemy_t",
            self.metadata,
            sa.Column("id", sa.BigInteger),
            sa.Column("name", sa.String(20)),
            sa.Column("at", sa.DateTime),
            sa.Column("price", sa.Numeric(10, 2)),
            sa.Column("ok", sa.Boolean),
        )
        self.metadata.drop_all(self.engine)
        with self.engine.begin() as connection:
            connection.execute(sa.text("DROP TABLE IF EXISTS alchemy_t"))

    @works("`create_all`, `insert` of one row or many, `select`, `drop_all`")
    def test_core(self):
        self.metadata.create_all(self.engine)
        at = dt.datetime(2024, 1, 2, 3, 4, 5)
        rows = [
            {"id": 1, "name": "a", "at": at, "price": decimal.Decimal("1.50"), "ok": True},
            {"id": 2, "name": None, "at": None, "price": None, "ok": None},
        ]
        with self.engine.begin() as connection:
            connection.execute(sa.insert(self.table), rows)
            connection.execute(sa.insert(self.table).values(id=3, name="c", ok=False))
        with self.engine.connect() as connection:
            read = connection.execute(sa.select(self.table).order_by(self.table.c.id)).all()
            self.assertEqual(read[0], (1, "a", at, decimal.Decimal("1.50"), True))
            self.assertEqual([row.ok for row in read], [True, None, False])
            query = sa.select(sa.func.count()).where(self.table.c.name.in_(["a", "c"]))
            self.assertEqual(connection.execute(query).scalar(), 2)
        self.metadata.drop_all(self.engine)

    @works("reflection of a table by its name")
    def test_reflection(self):
        self.metadata.create_all(self.engine)
        reflected = sa.Table("alchemy_t", sa.MetaData(), autoload_with=self.engine)
        self.assertEqual([type(column.type).__name__ for column in reflected.columns][:3], ["BigInteger", "String", "DateTime"])

    @works("pandas: `to_sql`, and `read_sql` with `params` and `chunksize`")
    def test_pandas(self):
        Pandas.frame.to_sql("alchemy_p", self.engine, index=False, if_exists="replace")
        query = sa.text("SELECT * FROM alchemy_p WHERE id > :id")
        self.assertEqual(pd.read_sql(query, self.engine, params={"id": 1})["id"].tolist(), [2])
        self.assertEqual([part.shape for part in pd.read_sql("FROM alchemy_p", self.engine, chunksize=1)], [(1, 4)] * 2)

    @works("ORM classes over a frame that exists: add, query")
    def test_orm(self):
        class Base(sa.orm.DeclarativeBase):
            pass

        class Note(Base):
            __tablename__ = "alchemy_o"
            id = sa.orm.mapped_column(sa.BigInteger, primary_key=True, autoincrement=False)
            text = sa.orm.mapped_column(sa.String)

        with sa.orm.Session(self.engine) as session:
            session.execute(sa.text("CREATE OR REPLACE TABLE alchemy_o (id BIGINT, text TEXT)"))
            session.add_all([Note(id=1, text="a"), Note(id=2, text="b")])
            session.commit()
            self.assertEqual(session.get(Note, 2).text, "b")
            self.assertEqual(session.scalars(sa.select(Note.text).order_by(Note.id)).all(), ["a", "b"])

    @lacks("primary keys, so `create_all` of ORM classes: create the frame with SQL")
    def test_keys(self):
        sa.Table("alchemy_k", self.metadata, sa.Column("id", sa.BigInteger, primary_key=True))
        with self.assertRaisesRegex(sa.exc.ProgrammingError, "a frame has no keys.* Leave PRIMARY KEY"):
            self.metadata.create_all(self.engine)

    @works("`get_table_names`, `MetaData.reflect`")
    def test_table_names(self):
        self.metadata.create_all(self.engine)
        self.assertIn("alchemy_t", sa.inspect(self.engine).get_table_names())
        reflected = sa.MetaData()
        reflected.reflect(self.engine, only=lambda name, _: name.startswith("alchemy_t"))
        self.assertEqual([column.name for column in reflected.tables["alchemy_t"].columns], ["id", "name", "at", "price", "ok"])
