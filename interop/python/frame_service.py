"""Calls the frame service through grpcio without a .proto file, using reflection."""

import grpc
import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

REFLECTION = "grpc.reflection.v1alpha.ServerReflection"


def field(name, number, kind, label=1, type_name=None):
    return descriptor_pb2.FieldDescriptorProto(name=name, number=number, type=kind, label=label, type_name=type_name)


def reflection_messages():
    """The few reflection messages that are needed, encoded by hand."""
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


class FrameService:
    """A connection to the service at an address."""

    def __init__(self, address, options=None):
        self.channel = grpc.insecure_channel(address, options)
        self.pool = descriptor_pool.DescriptorPool()
        request, response = reflection_messages()
        ask = self.channel.stream_stream(
            f"/{REFLECTION}/ServerReflectionInfo", request.SerializeToString, response.FromString
        )
        (answer,) = ask(iter([request(file_containing_symbol="svc.frames.v1.FrameService")]))
        files = map(
            descriptor_pb2.FileDescriptorProto.FromString, answer.file_descriptor_response.file_descriptor_proto
        )
        for file in sorted(files, key=lambda file: len(file.dependency)):
            self.pool.Add(file)

    def close(self):
        self.channel.close()

    def call(self, method, request):
        """Calls a method, unary or streaming."""
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


def read(chunks):
    """Reads a table from the chunks of a response."""
    return pa.ipc.open_stream(b"".join(part.chunk for part in chunks)).read_all()
