"""Clients of the standard library send the whole body before they read the response."""

import http.client
import os
import unittest
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ["SVC_URL"]
BODY = bytes(200_000_000)


class RefusedUpload(unittest.TestCase):
    def test_http_client_sees_the_answer_and_keeps_the_connection(self):
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(URL).netloc, timeout=30)
        self.addCleanup(connection.close)
        for _ in range(2):
            connection.request("PUT", "/frames/refused?fmt=nope", BODY)
            answer = connection.getresponse()
            self.assertEqual(answer.status, 415)
            self.assertIn(b"unsupported_media_type", answer.read())

    def test_urllib_sees_the_answer_of_a_connection_that_it_closes(self):
        request = urllib.request.Request(URL + "/frames/refused?fmt=json", data=BODY, method="PUT")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=30)
        with refused.exception as answer:
            self.assertEqual(answer.code, 400)
            self.assertIn(b"invalid_data", answer.read())


if __name__ == "__main__":
    unittest.main()
