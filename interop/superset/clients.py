"""What works with Superset, through the dialect of flightsql-dbapi: each line of the output is a part of a row of the table in
docs/clients.md. The argument: the address of the server. The settings of Superset are `superset_config.py` in this folder."""

import os
import pathlib
import re
import subprocess
import sys
import threading

import requests
from client_steps import equal, refuses, run_steps

SUPERSET = pathlib.Path(sys.executable).with_name("superset")
URI = f"datafusion://{sys.argv[1]}?insecure=true"
ADMIN = {"username": "admin", "password": "admin"}
FRAME = """CREATE OR REPLACE TABLE super_s AS SELECT TIMESTAMP '2024-01-01' + INTERVAL (range) HOUR AS moment, range AS id,
    'c' || (range % 3) AS coin, (range * 0.5)::DOUBLE AS price, range % 2 = 0 AS even FROM range(100)"""
PRICES = [{"expressionType": "SIMPLE", "column": {"column_name": "price"}, "aggregate": "SUM", "label": "total"}]


def start_superset():
    """Sets Superset up in this folder, and starts it. Returns the process and its address."""
    folder = os.getcwd()
    own = {"SUPERSET_HOME": folder, "SUPERSET_CONFIG_PATH": f"{folder}/superset_config.py", "SUPERSET_SECRET_KEY": "k" * 42}
    env = {**os.environ, **own}
    admin = ["fab", "create-admin", "--firstname", "a", "--lastname", "b", "--email", "a@example.com"]
    for command in (["db", "upgrade"], [*admin, *(f"--{name}={value}" for name, value in ADMIN.items())], ["init"]):
        done = subprocess.run([SUPERSET, *command], env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"superset {command[0]} failed:\n{done.stderr}")
    command = [SUPERSET, "run", "--host", "127.0.0.1", "--port", "0", "--with-threads"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    lines = []
    for line in process.stderr:
        lines.append(line)
        if ready := re.search(r"Running on (http://\S+:\d+)", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, ready[1]
    raise RuntimeError(f"superset run ended:\n{''.join(lines)}")


class Superset:
    """The REST API, with a connection to the server."""

    def __init__(self, address):
        self.address = address
        self.session = requests.Session()
        token = self.call("post", "security/login", json={**ADMIN, "provider": "db"})["access_token"]
        self.session.headers["Authorization"] = f"Bearer {token}"
        self.session.headers["X-CSRFToken"] = self.call("get", "security/csrf_token/")["result"]
        connection = {"database_name": "frames", "sqlalchemy_uri": URI}
        equal(self.call("post", "database/test_connection/", json=connection), {"message": "OK"})
        self.database = self.call("post", "database/", json={**connection, "allow_dml": True})["id"]

    def call(self, method, path, **options):
        answer = self.session.request(method, f"{self.address}/api/v1/{path}", timeout=120, **options)
        if not answer.ok:
            raise RuntimeError(f"{path}: {answer.status_code} {answer.text}")
        return answer.json()

    def sql(self, text):
        query = {"database_id": self.database, "sql": text, "schema": "main", "runAsync": False}
        return self.call("post", "sqllab/execute/", json=query)["data"]

    def dataset(self, name, **query):
        body = {"database": self.database, "schema": "main", "table_name": name, **query}
        return self.call("post", "dataset/", json=body)["id"]

    def chart(self, dataset, **query):
        body = {"datasource": {"id": dataset, "type": "table"}, "force": True, "queries": [{"row_limit": 1000, **query}]}
        return self.call("post", "chart/data", json=body)["result"][0]["data"]


def sql_lab(superset):
    superset.sql(FRAME)
    superset.sql("INSERT INTO super_s (id, coin) VALUES (100, 'c1')")
    rows = superset.sql("SELECT coin, count(*) AS n, max(moment) AS latest FROM super_s GROUP BY coin ORDER BY coin")
    equal([row["n"] for row in rows], [34, 34, 33])
    equal(rows[0]["latest"], "2024-01-05T03:00:00")
    superset.sql("CREATE TABLE super_d AS SELECT 1 AS one")
    superset.sql("DROP TABLE super_d")
    refuses('There is no frame \\"super_d\\"', lambda: superset.sql("SELECT * FROM super_d"))


def lists(superset):
    path = f"database/{superset.database}"
    equal(superset.call("get", f"{path}/schemas/")["result"], ["main"])
    equal([row["value"] for row in superset.call("get", f"{path}/tables/?q=(schema_name:main)")["result"]], ["super_s"])
    columns = superset.call("get", f"{path}/table_metadata/?name=super_s&schema=main")["columns"]
    equal(" ".join(column["type"] for column in columns), "TIMESTAMP BIGINT TEXT FLOAT BOOLEAN")


def charts(superset):
    frame = superset.dataset("super_s")
    coins = superset.chart(frame, columns=["coin"], metrics=PRICES, orderby=[["coin", True]])
    equal(coins, [{"coin": "c0", "total": 841.5}, {"coin": "c1", "total": 808.5}, {"coin": "c2", "total": 825.0}])
    days = {"granularity": "moment", "time_range": "2024-01-01 : 2024-01-03"}
    some = superset.chart(frame, columns=[], metrics=["count"], filters=[{"col": "coin", "op": "IN", "val": ["c0", "c1"]}], **days)
    equal(some, [{"count": 32}])
    query = superset.dataset("super_q", sql="SELECT coin, max(price) AS highest FROM super_s GROUP BY coin")
    equal(len(superset.chart(query, columns=["coin", "highest"])), 3)


def grains(superset):
    frame = superset.dataset("super_g", sql="SELECT moment, price FROM super_s")
    day = {"timeGrain": "P1D", "columnType": "BASE_AXIS", "sqlExpression": "moment", "label": "moment", "expressionType": "SQL"}
    rows = superset.chart(frame, columns=[day], metrics=PRICES, filters=[{"col": "price", "op": "IS NOT NULL"}])
    equal(sorted(row["total"] for row in rows), [138.0, 195.0, 426.0, 714.0, 1002.0])


def keywords(superset):
    superset.sql("CREATE OR REPLACE TABLE super_k AS SELECT 1 AS id, 2 AS at")
    frame = superset.dataset("super_k")
    equal(superset.chart(frame, columns=["id"]), [{"id": 1}])
    refuses("Syntax error", lambda: superset.chart(frame, columns=["at"]))


def integers(superset):
    equal(superset.sql("SELECT 9007199254740993 AS id, 0.5::DOUBLE AS price")[0]["id"], 9007199254740992)
    equal(superset.sql("SELECT 9007199254740993 AS id, 'BTC' AS coin")[0]["id"], "9007199254740993")


STEPS = [
    ("works", "SQL Lab: queries, `CREATE TABLE`, `INSERT`, `DROP TABLE`; errors, with their message", sql_lab),
    ("works", "lists of schemas, tables and columns", lists),
    ("works", "datasets of a frame or a query; charts with metrics, filters and time ranges", charts),
    ("works", "time grains, with the setting below", grains),
    ("lacks", "columns in charts whose names are words of SQL, such as `at`: the dialect does not quote them", keywords),
    ("lacks", "digits of integers above 2^53 in rows that also have floats, and no texts: the dialect makes them floats", integers),
]

if __name__ == "__main__":
    process, address = start_superset()
    try:
        run_steps(STEPS, Superset(address))
    finally:
        process.terminate()
        process.wait()
