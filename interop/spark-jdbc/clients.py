"""What works with Spark's JDBC reader and writer, with no dialect of its own: each line of the output that begins with `works` or
`lacks` is a part of a row of the table in docs/clients.md. The arguments: the address of the server, and the JDBC driver."""

import datetime as dt
import decimal
import os
import sys

import client_steps
import py4j.protocol
import pyspark.errors
from client_steps import equal, run_steps
from pyspark.sql import SparkSession

os.environ["TZ"] = "UTC"
ADDRESS, DRIVER = sys.argv[1:]
OPTIONS = {
    "url": f"jdbc:arrow-flight-sql://{ADDRESS}?useEncryption=false",
    "driver": "org.apache.arrow.driver.jdbc.ArrowFlightJdbcDriver",
}
ERRORS = (py4j.protocol.Py4JJavaError, pyspark.errors.PySparkException)
SETTINGS = {
    "spark.driver.extraClassPath": DRIVER,
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.driver.memory": "512m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}

# Of each type that Spark writes, with a null in every column but the first.
TYPES = """id BIGINT, small SMALLINT, whole INT, tiny TINYINT, ok BOOLEAN, ratio DOUBLE, share FLOAT, name STRING,
    price DECIMAL(10, 2), day DATE, at TIMESTAMP, bytes BINARY"""
FIRST = (
    *(1, -3, 70000, 5, True, 1.5, 2.5, 'it\'s "a"', decimal.Decimal("1.25"), dt.date(2024, 1, 2)),
    *(dt.datetime(2024, 1, 2, 3, 4, 5, 678000), bytearray(b"\x00xy")),
)
SECOND = (2, *[None] * (len(FIRST) - 1))


def start():
    builder = SparkSession.builder.master("local[1]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


spark = start()
written = spark.createDataFrame([FIRST, SECOND], TYPES)


def read(**options):
    return spark.read.format("jdbc").options(**OPTIONS, **options).load()


def write(frame, mode, **options):
    frame.write.format("jdbc").options(**OPTIONS, **options).mode(mode).save()


def rows_of(frame):
    return [tuple(row) for row in frame.collect()]


def run_sql(*statements):
    """Runs statements with the JDBC driver itself: Spark has no way to run one that returns no rows."""
    connection = spark._jvm.java.sql.DriverManager.getConnection(OPTIONS["url"])
    statement = connection.createStatement()
    for sql in statements:
        statement.executeUpdate(sql)
    connection.close()


def refuses(message, step):
    client_steps.refuses(message, step, ERRORS)


def read_frames():
    run_sql(
        """CREATE OR REPLACE TABLE spark_r AS SELECT range AS id, 'n' || range AS name, range % 2 = 0 AS ok, range / 2 AS half,
        (range / 4)::DECIMAL(10, 2) AS quarter, DATE '2024-01-01' + range::INTEGER AS day,
        TIMESTAMP '2024-01-01 00:00:00.000001' + to_hours(range) AS at, encode('b') AS bytes FROM range(1000)"""
    )
    frame = read(dbtable="spark_r", customSchema="id BIGINT")
    types = ["bigint", "string", "boolean", "double", "decimal(10,2)", "date", "timestamp", "binary"]
    equal([type for _, type in frame.dtypes], types)
    at = dt.datetime(2024, 1, 1, 1, 0, 0, 1)
    expected = (1, "n1", False, 0.5, decimal.Decimal("0.25"), dt.date(2024, 1, 2), at, bytearray(b"b"))
    equal(rows_of(frame.where("id = 1")), [expected])
    parts = read(dbtable="spark_r", partitionColumn="id", lowerBound="0", upperBound="1000", numPartitions="4")
    equal(parts.rdd.getNumPartitions(), 4)
    equal(rows_of(parts.selectExpr("count(*)", "sum(id)")), [(1000, 499500)])


def read_queries():
    query = "SELECT ok, count(*) AS n FROM spark_r GROUP BY ok ORDER BY ok"
    equal(rows_of(read(query=query)), [(False, 500), (True, 500)])
    equal(rows_of(read(prepareQuery="WITH t AS (SELECT 42 AS x)", query="SELECT x FROM t")), [(42,)])


def push_filters():
    frame = read(dbtable="spark_r").where("id > 990 AND name LIKE 'n99%'").select("id")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    for pushed in ("*GreaterThan(id,990)", "*StringStartsWith(name,n99)"):
        equal((pushed in plan, plan), (True, plan))
    equal(frame.where("at >= timestamp'2024-01-02' AND day > date'2024-01-02' AND quarter > 1.5 AND ok").count(), 4)


def append():
    run_sql(
        """CREATE OR REPLACE TABLE spark_w (id BIGINT, small SMALLINT, whole INTEGER, tiny TINYINT, ok BOOLEAN, ratio DOUBLE,
        share REAL, name VARCHAR, price DECIMAL(10, 2), day DATE, at TIMESTAMP, bytes BLOB)"""
    )
    write(written, "append", dbtable="spark_w")
    equal(rows_of(read(dbtable="spark_w").orderBy("id")), [FIRST, SECOND])
    many = spark.range(20000).selectExpr("'n' || id AS name", "id").repartition(2)
    write(many, "append", dbtable="spark_w")
    equal(rows_of(read(query="SELECT count(*), count(name) FROM spark_w")), [(20002, 20001)])


def overwrite():
    for options in ({}, {"truncate": "true"}):
        run_sql("CREATE OR REPLACE TABLE spark_o (other BIGINT)")
        write(written, "overwrite", dbtable="spark_o", **options)
        equal(rows_of(read(dbtable="spark_o").orderBy("id")), [FIRST, SECOND])


def keep():
    write(written, "ignore", dbtable="spark_o")
    equal(read(dbtable="spark_o").count(), 2)
    refuses("already exists", lambda: write(written, "error", dbtable="spark_o"))


def create():
    run_sql("DROP TABLE IF EXISTS spark_n")
    refuses("while preparing SQL: SELECT 1 FROM spark_n WHERE 1=0", lambda: write(written, "append", dbtable="spark_n"))


def read_signed():
    frame = read(query="SELECT 1::BIGINT AS x, 2::INTEGER AS y")
    equal([type for _, type in frame.dtypes], ["decimal(20,0)", "bigint"])


def read_unsigned():
    equal(rows_of(read(query="SELECT 4000000000::UINTEGER AS x", customSchema="x BIGINT")), [(-294967296,)])


def read_others():
    for value in ("[1, 2]", "{'a': 1}", "MAP {'a': 1}", "INTERVAL 1 DAY", "TIMESTAMPTZ '2024-01-02 00:00:00+00'"):
        refuses("UNRECOGNIZED_SQL_TYPE", lambda: read(query=f"SELECT {value} AS x"))


def write_microseconds():
    at = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
    run_sql("CREATE OR REPLACE TABLE spark_m (at TIMESTAMP)")
    write(spark.createDataFrame([(at,)], "at TIMESTAMP"), "append", dbtable="spark_m")
    equal(rows_of(read(dbtable="spark_m")), [(at.replace(microsecond=678000),)])


def use_catalog():
    """Sets up a catalog: SQL of Spark then finds frames by their names."""
    spark.conf.set("spark.sql.catalog.frames", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    for name, value in OPTIONS.items():
        spark.conf.set(f"spark.sql.catalog.frames.{name}", value)
    query = "SELECT name FROM frames.main.spark_r WHERE half > 3 ORDER BY id DESC LIMIT 2"
    equal(rows_of(spark.sql(query)), [("n999",), ("n998",)])


def list_catalog():
    refuses("Memory was leaked", lambda: spark.sql("SHOW TABLES IN frames.main").collect())
    refuses("Failed table existence check", lambda: spark.sql("CREATE TABLE frames.main.spark_n (id BIGINT)"))


STEPS = [
    ("works", "frames of all common types, whole or in partitions", read_frames),
    ("works", "`query`, `prepareQuery`, `customSchema`", read_queries),
    ("works", "filters, which run on the server", push_filters),
    ("works", "`append` to a frame, by the names of its columns, in batches", append),
    ("works", "`overwrite` of a frame, with `truncate` or not", overwrite),
    ("works", "`ignore` and `error` if there is a frame", keep),
    ("works", "`SELECT` from a `JDBCTableCatalog`", use_catalog),
    ("lacks", "creating a frame: Spark waits for an SQLSTATE, and the driver has none; create it before", create),
    ("lacks", "signed integers: the driver does not name them, so BIGINT is read as `decimal(20,0)`; use `customSchema`", read_signed),
    ("lacks", "unsigned integers: the driver returns the larger half as negative numbers; cast them in `query`", read_unsigned),
    ("lacks", "lists, structs, maps, intervals and TIMESTAMPTZ: cast them in `query`", read_others),
    ("lacks", "microseconds of timestamps that are written", write_microseconds),
    ("lacks", "`SHOW TABLES` and `CREATE TABLE` in a `JDBCTableCatalog`", list_catalog),
]

if __name__ == "__main__":
    run_steps(STEPS)
    spark.stop()
