"""The Python blocks of the documentation print what their pages show, by the rules of docs/README.md."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import tempfile
import unittest
import unittest.mock
import urllib.request

from flight_server import GRPC
from server import URL

ROOT = pathlib.Path(__file__).parents[2]
SHOWN = {"http://localhost:9000": URL, "grpc://localhost:50052": GRPC}
BLOCK = re.compile(r"^```(\w[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def is_as_shown(printed, shown):
    """Whether a text matches the page, with `…` for any text in a line, and alone on a line for any lines."""
    pattern = re.escape(without_trailing_blanks(shown))
    pattern = re.sub(r"^…\n", r"(?:[^\n]*\n)*?", pattern, flags=re.MULTILINE).replace("…", r"[^\n]*?")
    return re.fullmatch(pattern, without_trailing_blanks(printed)) is not None


def without_trailing_blanks(text):
    return "\n".join(line.rstrip() for line in text.strip().split("\n")) + "\n"


class Notebooks(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        # The page writes a file.
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(contextlib.chdir(directory))

    def test_every_block_of_notebooks_prints_what_is_shown(self):
        self.run_page("docs/notebooks.md")

    def test_every_block_of_the_grpc_api_prints_what_is_shown(self):
        self.run_page("docs/grpc-api.md")

    def test_every_block_of_the_first_pages_prints_what_is_shown(self):
        # Both pages put this file with curl.
        rows = b"day,symbol,close\n2024-01-02,BTC,44957.97\n2024-01-02,ETH,2355.84\n2024-01-03,BTC,42848.18\n"
        headers = {"Content-Type": "text/csv"}
        put = urllib.request.Request(f"{URL}/frames/prices", data=rows, method="PUT", headers=headers)
        with urllib.request.urlopen(put) as response:
            self.assertEqual(response.status, 201)
        for page in ("README.md", "docs/start.md"):
            with self.subTest(page):
                self.run_page(page)

    def test_every_block_of_clients_prints_what_is_shown_with_tls_and_a_token(self):
        folder = pathlib.Path(os.environ["SVC_TLS_FOLDER"])
        shutil.copy(folder / "ca.pem", "ca.pem")
        self.enterContext(unittest.mock.patch.dict(os.environ, {"SVC_TOKEN": (folder / "token").read_text()}))
        port = os.environ["SVC_TLS_GRPC"].rpartition(":")[2]
        self.run_page("docs/clients.md", {"localhost:50052": f"localhost:{port}"})

    def run_page(self, name, addresses=SHOWN):
        page = (ROOT / name).read_text()
        blocks = [(match[1], match[2], page.count("\n", 0, match.start()) + 1) for match in BLOCK.finditer(page)]
        names = {}
        for (language, code, line), (next_language, next_text, _) in zip(blocks, [*blocks[1:], ("", "", 0)]):
            if language != "python":
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                for shown_url, url in addresses.items():
                    code = code.replace(shown_url, url)
                exec(compile(code, f"line {line}", "exec"), names)
            shown = next_text if next_language == "text" else ""
            if not is_as_shown(printed.getvalue(), shown):
                self.assertEqual(printed.getvalue(), shown, f"The block of line {line} prints something else.")
        self.assertTrue(names, "No block was run.")
