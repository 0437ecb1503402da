"""The Python blocks of docs/notebooks.md print what the page shows, by the rules of docs/README.md."""

import contextlib
import io
import pathlib
import re
import tempfile
import unittest

from server import URL

PAGE = pathlib.Path(__file__).parents[2] / "docs/notebooks.md"
SHOWN_URL = "http://localhost:9000"
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def is_as_shown(printed, shown):
    """Whether a text is the one that is shown, `…` standing for anything in a line, and alone for any lines."""
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

    def test_every_block_prints_what_is_shown(self):
        page = PAGE.read_text()
        blocks = [(match[1], match[2], page.count("\n", 0, match.start()) + 1) for match in BLOCK.finditer(page)]
        names = {}
        for (language, code, line), (next_language, next_text, _) in zip(blocks, [*blocks[1:], ("", "", 0)]):
            if language != "python":
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code.replace(SHOWN_URL, URL), f"line {line}", "exec"), names)
            shown = next_text if next_language == "text" else ""
            if not is_as_shown(printed.getvalue(), shown):
                self.assertEqual(printed.getvalue(), shown, f"The block of line {line} prints something else.")
        self.assertIn("URL", names, "No block was run.")
