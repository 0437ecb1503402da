"""Clients over TLS, with a token or a client certificate as their credentials."""

import json
import os
import pathlib
import ssl
import subprocess
import sys
import unittest
import urllib.request

import adbc_driver_flightsql.dbapi as dbapi
import polars as pl
import pyarrow as pa
import pyarrow.flight as fl
from adbc_driver_flightsql import DatabaseOptions

URL = os.environ["SVC_TLS_URL"]
PORT = os.environ["SVC_TLS_GRPC"].rpartition(":")[2]
FOLDER = pathlib.Path(os.environ["SVC_TLS_FOLDER"])
CA, CERT, KEY, TOKEN = ((FOLDER / name).read_text() for name in ("ca.pem", "cert.pem", "key.pem", "token"))
GRPC = f"grpc+tls://localhost:{PORT}"
TRADES = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "symbol": ["BTC", "ETH", None]})


def setUpModule():
    with fl.FlightClient(GRPC, tls_root_certs=CA) as client:
        options = fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {TOKEN}".encode())])
        writer, _ = client.do_put(fl.FlightDescriptor.for_path("trades"), TRADES.schema, options)
        with writer:
            writer.write_table(TRADES)


def fetch(path, headers=None, context=None):
    context = context or ssl.create_default_context(cafile=FOLDER / "ca.pem")
    with urllib.request.urlopen(urllib.request.Request(URL + path, headers=headers or {}), context=context, timeout=30) as answer:
        return answer.read()


class Flight(unittest.TestCase):
    def client(self, **options):
        client = fl.FlightClient(GRPC, tls_root_certs=CA, **options)
        self.addCleanup(client.close)
        return client

    def read(self, client, *options):
        info = client.get_flight_info(fl.FlightDescriptor.for_path("trades"), *options)
        return client.do_get(info.endpoints[0].ticket, *options).read_all()

    def test_reads_with_a_token_as_the_password(self):
        client = self.client()
        header = client.authenticate_basic_token("anyone", TOKEN)
        self.assertEqual(self.read(client, fl.FlightCallOptions(headers=[header])), TRADES)

    def test_reads_with_a_certificate(self):
        client = self.client(cert_chain=CERT, private_key=KEY)
        self.assertEqual(self.read(client), TRADES)

    def test_is_refused_without_credentials(self):
        with self.assertRaisesRegex(fl.FlightUnauthenticatedError, "The request has no credentials"):
            self.read(self.client())

    def test_does_not_trust_an_unknown_authority(self):
        with fl.FlightClient(GRPC) as client, self.assertRaises(fl.FlightUnavailableError):
            self.read(client)

    def test_fails_at_once_without_tls(self):
        with fl.FlightClient(f"grpc://localhost:{PORT}") as client, self.assertRaises(fl.FlightUnavailableError):
            self.read(client)


class Adbc(unittest.TestCase):
    def query(self, options, uri=GRPC):
        with dbapi.connect(uri, db_kwargs={DatabaseOptions.TLS_ROOT_CERTS.value: CA, **options}, autocommit=True) as connection:
            with connection.cursor() as cursor:
                cursor.execute("SELECT * FROM trades ORDER BY id")
                return cursor.fetch_arrow_table()

    def test_reads_with_a_token_as_the_password(self):
        self.assertEqual(self.query({"username": "anyone", "password": TOKEN}), TRADES)

    def test_reads_with_a_header(self):
        self.assertEqual(self.query({DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {TOKEN}"}), TRADES)

    def test_reads_with_a_certificate(self):
        options = {DatabaseOptions.MTLS_CERT_CHAIN.value: CERT, DatabaseOptions.MTLS_PRIVATE_KEY.value: KEY}
        self.assertEqual(self.query(options), TRADES)

    def test_a_wrong_token_is_not_rescued_by_a_certificate(self):
        options = {
            DatabaseOptions.MTLS_CERT_CHAIN.value: CERT,
            DatabaseOptions.MTLS_PRIVATE_KEY.value: KEY,
            DatabaseOptions.AUTHORIZATION_HEADER.value: "Bearer svc_nonsense",
        }
        with self.assertRaisesRegex(dbapi.Error, "The token is unknown, wrong or revoked"):
            self.query(options)


class Polars(unittest.TestCase):
    SQL = "SELECT * FROM trades ORDER BY id"

    def test_reads_over_a_connection_by_a_flightsql_uri(self):
        options = {DatabaseOptions.TLS_ROOT_CERTS.value: CA, "username": "anyone", "password": TOKEN}
        with dbapi.connect(f"flightsql://localhost:{PORT}", db_kwargs=options, autocommit=True) as connection:
            self.assertEqual(pl.read_database(self.SQL, connection).to_dict(as_series=False), TRADES.to_pydict())

    def test_reaches_the_server_by_a_uri_alone_but_has_no_credentials(self):
        # The driver loads the authorities of the system once, so that it needs a process of its own.
        program = f"import polars; polars.read_database_uri({self.SQL!r}, 'flightsql://localhost:{PORT}', engine='adbc')"
        env = {**os.environ, "SSL_CERT_FILE": str(FOLDER / "ca.pem")}
        ran = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60)
        self.assertIn("UNAUTHENTICATED: [FlightSQL] The request has no credentials.", ran.stderr)


class Http(unittest.TestCase):
    PATH = "/exp?handle=trades&fmt=csv"
    CSV = b"id,symbol\r\n1,BTC\r\n2,ETH\r\n3,\r\n"

    def test_python_reads_with_a_token(self):
        frames = json.loads(fetch("/frames", {"authorization": f"Bearer {TOKEN}"}))["frames"]
        self.assertIn("trades", [frame["handle"] for frame in frames])

    def test_python_reads_with_a_certificate(self):
        context = ssl.create_default_context(cafile=FOLDER / "ca.pem")
        context.load_cert_chain(FOLDER / "cert.pem", FOLDER / "key.pem")
        self.assertEqual(fetch(self.PATH, context=context), self.CSV)

    def curl(self, *arguments):
        return subprocess.run(["curl", "-sS", *map(str, arguments)], capture_output=True, timeout=30)

    def test_curl_reads_with_a_certificate(self):
        own = ["--cert", FOLDER / "cert.pem", "--key", FOLDER / "key.pem"]
        self.assertEqual(self.curl("--cacert", FOLDER / "ca.pem", *own, URL + self.PATH).stdout, self.CSV)

    def test_curl_reads_with_a_token(self):
        ran = self.curl("--cacert", FOLDER / "ca.pem", "--user", f"anyone:{TOKEN}", URL + self.PATH)
        self.assertEqual(ran.stdout, self.CSV)

    def test_curl_does_not_trust_an_unknown_authority(self):
        self.assertEqual(self.curl(URL + "/ping").returncode, 60)

    def test_curl_is_told_to_use_tls(self):
        answer = json.loads(self.curl(URL.replace("https:", "http:") + "/ping").stdout)
        self.assertEqual(answer["error"], "This port speaks TLS, and the request is plain HTTP.")
