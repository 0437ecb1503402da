"""grpcio without a .proto file: reflection tells it all it needs to call the frame service."""

import os
import unittest

import grpc
import pyarrow as pa

from frame_service import FrameService, read
from server import stream_of


class Frames(unittest.TestCase):
    def setUp(self):
        self.service = FrameService(os.environ["SVC_GRPC"])
        self.addCleanup(self.service.close)
        self.call = self.service.call

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
