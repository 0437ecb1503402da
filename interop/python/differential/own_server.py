"""A server with its own data directory, which can be restarted on the same directory."""

import contextlib
import http.client
import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path

import adbc_driver_flightsql.dbapi as dbapi
import pyarrow.flight as fl

from frame_service import FrameService

BINARY = Path(__file__).parents[3] / "apps/server/bin/server.js"
LISTENERS = ["--http-bind-address", "127.0.0.1:0", "--grpc-host", "127.0.0.1", "--grpc-port", "0"]
TIMEOUT_S = 60
MESSAGE_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Refused(Exception):
    """The server refused a request, with a reason."""

    def __init__(self, status, sentence):
        super().__init__(f"{status} {sentence}")
        self.status, self.sentence = status, sentence


class OwnServer:
    """Starts the server, and connects all clients to it."""

    def __init__(self, *arguments):
        self.arguments = arguments
        self.directory = tempfile.TemporaryDirectory(prefix="svc-differential-")
        self.log = []
        self.start()

    def start(self):
        logging = ["--log-format", "json", "--log-level", "error"]
        command = [os.environ.get("SVC_NODE", "node"), BINARY, *LISTENERS, *logging]
        # An empty home directory, so that the server reads no configuration of the machine.
        environment = {"PATH": os.environ["PATH"], "HOME": self.directory.name}
        self.process = subprocess.Popen(
            [*command, "--data-dir", f"{self.directory.name}/data", *self.arguments],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        ready = self.read_until_ready()
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()
        self.address = ready["http"].removeprefix("http://")
        self.flight = fl.connect(f"grpc://{ready['grpc']}")
        self.adbc = dbapi.connect(f"grpc://{ready['grpc']}", autocommit=True)
        self.frames = FrameService(ready["grpc"], MESSAGE_OPTIONS)

    def read_until_ready(self):
        for line in self.process.stderr:
            if '"message":"ready"' in line:
                return json.loads(line)
            self.log.append(line)
        self.process.wait(TIMEOUT_S)
        self.process.stderr.close()
        self.directory.cleanup()
        raise AssertionError(f"The server ended before it was ready: {''.join(self.log)}")

    def stop(self):
        for client in (self.flight, self.adbc, self.frames):
            client.close()
        self.process.terminate()
        self.process.wait(TIMEOUT_S)
        self.reader.join()
        self.process.stderr.close()

    def restart(self):
        self.stop()
        self.start()

    def close(self):
        self.stop()
        self.directory.cleanup()

    def send(self, method, path, body=None, headers=None):
        """Returns the body of a response, or raises `Refused`."""
        connection = http.client.HTTPConnection(self.address, timeout=TIMEOUT_S)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            content = answer.read()
        if answer.status >= 300:
            raise Refused(answer.status, sentence_of(content))
        return content

    def stored_files(self, handle):
        """The Parquet files that hold a frame."""
        return sorted(Path(self.directory.name, "data/cold/default", handle.lower()).glob("*.parquet"))


def sentence_of(content):
    try:
        return json.loads(content)["error"]
    except (ValueError, KeyError):
        return content.decode(errors="replace")
