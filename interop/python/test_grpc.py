"""grpcio without a .proto file: reflection tells it all it needs to call the frame service."""

import os
import unittest

import grpc
import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from server import stream_of

REFLECTION = "grpc.reflection.v1alpha.ServerReflection"


def field(name, number, kind, label=1, type_name=None):
    return descriptor_pb2.FieldDescriptorProto(name=name, number=number, type=kind, label=label, type_name=type_name)


def reflection_messages():
    """The few messages of reflection that are asked with, written out."""
    file = descriptor_pb2.FileDescriptorProto(name="asked.proto", package="asked", syntax="proto3")
    request = file.message_type.add(name="Request")
    request.field.extend([field("file_containing_symbol", 4, 9), field("list_services", 7, 9)])
    files = file.message_type.add(name="Files")
    files.field.append(field("file_descriptor_proto", 1, 12, label=3))
    response = file.message_type.add(name="Response")
    response.field.append(field("file_descriptor_response", 4, 11, type_name=".asked.Files"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    find = lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"asked.{name}"))
    return find("Request"), find("Response")


class Frames(unittest.TestCase):
    def setUp(self):
        self.channel = grpc.insecure_channel(os.environ["SVC_GRPC"])
        self.addCleanup(self.channel.close)
        self.pool = descriptor_pool.DescriptorPool()
        request, response = reflection_messages()
        ask = self.channel.stream_stream(
            f"/{REFLECTION}/ServerReflectionInfo", request.SerializeToString, response.FromString
        )
        (answer,) = ask(iter([request(file_containing_symbol="svc.frames.v1.FrameService")]))
        files = map(descriptor_pb2.FileDescriptorProto.FromString, answer.file_descriptor_response.file_descriptor_proto)
        for file in sorted(files, key=lambda file: len(file.dependency)):
            self.pool.Add(file)

    def call(self, method, request):
        """Calls a method, whatever streams."""
        service = self.pool.FindServiceByName("svc.frames.v1.FrameService")
        described = service.FindMethodByName(method)
        sent, got = (message_factory.GetMessageClass(kind) for kind in (described.input_type, described.output_type))
        kind = ("unary", "stream")
        make = getattr(self.channel, f"{kind[described.client_streaming]}_{kind[described.server_streaming]}")
        call = make(f"/{service.full_name}/{method}", sent.SerializeToString, got.FromString)
        if described.client_streaming:
            return call(iter([sent(**part) for part in request]), timeout=30)
        answer = call(sent(**request), timeout=30)
        return list(answer) if described.server_streaming else answer

    def test_are_put_read_queried_kept_listed_and_dropped(self):
        table = pa.table({"id": [1, 2, 3]})
        put = self.call("PutFrame", [{"target": {"handle": "grpc_ids"}}, {"chunk": stream_of(table)}])
        self.assertEqual((put.frame.rows, put.frame.columns[0].type), (3, "LONG"))
        first, *rest = self.call("GetFrame", {"handle": "grpc_ids", "limit": 2})
        self.assertEqual(first.frame.handle, "grpc_ids")
        self.assertEqual(read(rest), table.slice(0, 2))
        query = {"sql": "SELECT id + ? AS next FROM grpc_ids ORDER BY 1", "params": [{"int_value": 1}]}
        self.assertEqual(read(self.call("Query", query)).to_pydict(), {"next": [2, 3, 4]})
        kept = self.call("KeepQuery", {**query, "handle": "grpc_next"})
        self.assertEqual((kept.created or True, kept.frame.rows), (True, 3))
        self.assertIn("grpc_next", [frame.handle for frame in self.call("ListFrames", {"prefix": "grpc_"}).frames])
        self.assertTrue(self.call("ExtendFrame", {"handle": "grpc_next", "ttl_seconds": 60}).frame.HasField("expires"))
        self.call("DropFrame", {"handle": "grpc_next"})
        with self.assertRaises(grpc.RpcError) as raised:
            self.call("DescribeFrame", {"handle": "grpc_next"})
        self.assertEqual(raised.exception.code(), grpc.StatusCode.NOT_FOUND)
        self.assertIn(("svc-error-code", "handle_not_found"), raised.exception.trailing_metadata())


def read(chunks):
    return pa.ipc.open_stream(b"".join(part.chunk for part in chunks)).read_all()
