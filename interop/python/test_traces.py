"""Spans of the server, read with OpenTelemetry's own definition of an export request."""

import base64
import http.server
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

SERVER = pathlib.Path(__file__).parents[2] / "apps/server/bin/server.js"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CLIENT_SPAN = "00f067aa0ba902b7"
BODY = b'[{"id": 1}, {"id": 2}]'
STATUS = "http.response.status_code"


class Collector(http.server.ThreadingHTTPServer):
    """Receives export requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), CollectorHandler)
        self.requests = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class CollectorHandler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, self.headers["Content-Type"], body))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def export_request(body):
    """Parses a body strictly: an unknown field or a value of the wrong type is an error."""
    message = json.loads(body)
    for resource in message["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                # OTLP writes ids in hexadecimal digits; the JSON encoding of other messages has base64.
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return json_format.ParseDict(message, ExportTraceServiceRequest())


def run_requests(collector):
    """Runs requests on a server that sends spans, and ends it, so that all of them are sent."""
    with tempfile.TemporaryDirectory() as home:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "SERVICE_TRACES_OTLP_URL": f"http://127.0.0.1:{collector.server_port}",
            "SERVICE_TRACES_SAMPLE": "0",
        }
        args = ["--http-bind-address", "127.0.0.1:0", "--grpc-host", "127.0.0.1", "--grpc-port", "0"]
        command = [os.environ["SVC_NODE"], SERVER, *args, "--log-format", "json"]
        with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as server:
            try:
                lines = map(json.loads, server.stderr)
                url = next(line["http"] for line in lines if line["message"] == "ready")
                threading.Thread(target=server.stderr.read, daemon=True).start()
                traced = {"traceparent": f"00-{TRACE}-{CLIENT_SPAN}-01", "tracestate": "vendor=1"}
                send(url, "/frames/spans", traced | {"Content-Type": "application/json"}, "PUT", BODY)
                send(url, "/exec?engine=local&fmt=json&query=select+sum(id)+from+spans", traced)
                send(url, "/exec?fmt=json&handle=unknown", traced)
            finally:
                server.send_signal(signal.SIGTERM)


def send(url, path, headers, method="GET", body=None):
    request = urllib.request.Request(url + path, data=body, method=method, headers=headers)
    try:
        urllib.request.urlopen(request, timeout=30).read()
    except urllib.error.HTTPError as error:
        error.read()


def attributes_of(message):
    return {one.key: one.value for one in message.attributes}


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Collector() as collector:
            run_requests(collector)
            collector.shutdown()
            cls.requests = collector.requests
        parsed = [export_request(body) for _, _, body in cls.requests]
        cls.resources = [resource.resource for one in parsed for resource in one.resource_spans]
        scopes = [scope for one in parsed for resource in one.resource_spans for scope in resource.scope_spans]
        cls.spans = [span for scope in scopes for span in scope.spans]

    def span(self, name, status):
        """The span of the request with a status."""
        [span] = [one for one in self.spans if one.name == name and attributes_of(one)[STATUS].int_value == status]
        return span

    def below(self, parent):
        """The spans below another one, by name."""
        return {one.name: one for one in self.spans if one.parent_span_id == parent.span_id}

    def test_a_request_is_a_json_post_to_the_url(self):
        self.assertGreater(len(self.requests), 0)
        for path, content_type, _ in self.requests:
            self.assertEqual((path, content_type), ("/v1/traces", "application/json"))

    def test_the_resource_names_the_service(self):
        for resource in self.resources:
            self.assertEqual(attributes_of(resource)["service.name"].string_value, "svc")

    def test_every_span_is_in_the_trace_of_the_client(self):
        self.assertEqual({span.trace_id.hex() for span in self.spans}, {TRACE})
        self.assertEqual({span.trace_state for span in self.spans}, {"vendor=1"})
        for span in self.spans:
            self.assertGreaterEqual(span.end_time_unix_nano, span.start_time_unix_nano)
            self.assertGreater(span.start_time_unix_nano, 1_700_000_000 * 10**9)

    def test_requests_are_server_spans_below_the_span_of_the_client(self):
        for name, status in (("PUT /frames/{handle}", 201), ("GET /exec", 200), ("GET /exec", 404)):
            span = self.span(name, status)
            self.assertEqual(span.kind, Span.SPAN_KIND_SERVER)
            self.assertEqual(span.parent_span_id.hex(), CLIENT_SPAN)

    def test_the_processes_of_the_engine_work_below_the_statement_and_the_request(self):
        [query] = [one for one in self.spans if one.name == "query local"]
        self.assertEqual(query.parent_span_id, self.span("GET /exec", 200).span_id)
        work = self.below(query)
        self.assertEqual(set(work), {"duckdb check", "duckdb prepare", "duckdb rows", "execute", "send"})
        self.assertEqual(set(self.below(work["duckdb rows"])), {"execute", "fetch"})
        self.assertGreater(attributes_of(work["duckdb rows"])["svc.bytes"].int_value, 0)
        for step in work.values():
            self.assertGreaterEqual(step.start_time_unix_nano, query.start_time_unix_nano)
        self.assertIn("duckdb write", self.below(self.span("PUT /frames/{handle}", 201)))

    def test_attributes_have_their_types(self):
        attributes = attributes_of(self.span("PUT /frames/{handle}", 201))
        self.assertEqual(attributes["http.request.method"].string_value, "PUT")
        self.assertEqual(attributes["http.request.body.size"].int_value, len(BODY))

    def test_a_mistake_of_the_client_is_no_failure_of_the_span(self):
        span = self.span("GET /exec", 404)
        self.assertEqual(attributes_of(span)["error.type"].string_value, "handle_not_found")
        self.assertEqual(span.status.code, Status.STATUS_CODE_UNSET)


if __name__ == "__main__":
    unittest.main()
