"""One row of SQL over Flight SQL and over HTTP, alternating. Prints the milliseconds of each as JSON."""

import json
import sys
import time
from http.client import HTTPConnection
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.flight as fl

ROUNDS = 300
# Warm-up rounds.
WARM_UP = 50
SQL = "SELECT sector FROM symbols WHERE symbol = 'SYM7'"


def field(number, value):
    """A field of a protobuf message, shorter than 128 bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def command(name, message):
    return field(1, f"type.googleapis.com/arrow.flight.protocol.sql.{name}".encode()) + field(2, message)


QUERY = fl.FlightDescriptor.for_command(command("CommandStatementQuery", field(1, SQL.encode())))


def put_symbols(client):
    symbols = [f"SYM{n}" for n in range(50)]
    table = pa.table({"symbol": symbols, "sector": [f"sector {n % 7}" for n in range(50)]})
    writer, _ = client.do_put(fl.FlightDescriptor.for_path("symbols"), table.schema)
    with writer:
        writer.write_table(table)


def over_flight(client):
    info = client.get_flight_info(QUERY)
    assert client.do_get(info.endpoints[0].ticket).read_all().num_rows == 1


def over_http(connection):
    connection.request("GET", "/exec?" + urlencode({"query": SQL, "engine": "local", "fmt": "json"}))
    assert json.loads(connection.getresponse().read())["count"] == 1


def milliseconds(ask):
    started = time.perf_counter()
    ask()
    return (time.perf_counter() - started) * 1000


def main(http, grpc):
    client, connection = fl.connect(f"grpc://{grpc}"), HTTPConnection(http)
    put_symbols(client)
    asks = {"http": lambda: over_http(connection), "flight": lambda: over_flight(client)}
    values = {name: [] for name in asks}
    for number in range(WARM_UP + ROUNDS):
        for name, ask in asks.items() if number % 2 == 0 else reversed(asks.items()):
            values[name].append(milliseconds(ask))
    print(json.dumps({name: taken[WARM_UP:] for name, taken in values.items()}))


main(*sys.argv[1:])
