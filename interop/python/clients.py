"""What works with which client, as the tests have seen it: docs/clients.md has the table."""

import functools
import importlib.metadata
import json
import os
import pathlib
import unittest

FILE = pathlib.Path(__file__).parents[1] / "clients" / "python.json"
_classes = []


def works(what):
    """Marks a test that passes if something works."""
    return functools.partial(_marked, "works", what)


def lacks(what):
    """Marks a test that passes if something is refused, or is not what one could expect."""
    return functools.partial(_marked, "lacks", what)


def _marked(kind, what, test):
    @functools.wraps(test)
    def seen(self):
        test(self)
        type(self).seen[kind].append(what)

    seen.place = (kind, what)
    return seen


class ClientTest(unittest.TestCase):
    """The tests of one client. `packages`: its package, and those that it uses."""

    client = ""
    packages = ()

    def __init_subclass__(cls):
        super().__init_subclass__()
        cls.seen = {"works": [], "lacks": []}
        if cls.client:
            _classes.append(cls)


def _declared(cls):
    return [test.place for test in vars(cls).values() if hasattr(test, "place")]


def _row(cls):
    version, *others = (importlib.metadata.version(name) for name in cls.packages)
    through = [f"{name} {version}" for name, version in zip(cls.packages[1:], others)]
    kinds = {kind: [what for one, what in _declared(cls) if one == kind] for kind in ("works", "lacks")}
    return {"client": cls.client, "version": version, "through": ", ".join(through), **kinds}


def record():
    """Compares the table with the one that is kept; with SVC_RECORD=1, keeps it. Only after a complete run."""
    if any(len(_declared(cls)) != sum(map(len, cls.seen.values())) for cls in _classes):
        return
    text = json.dumps([_row(cls) for cls in _classes], indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("SVC_RECORD"):
        FILE.write_text(text)
    elif not FILE.exists() or FILE.read_text() != text:
        raise AssertionError(f"{FILE} is out of date: run the suite with SVC_RECORD=1, then npm run docs.")
