"""Texts and bytes."""

import uuid

import pyarrow as pa

from .case import Case, quoted

VALUES = [
    "",
    "plain",
    'quote " and \\ back',
    "a,b",
    "line\nbreak\r\n",
    "tab\t\u0001",
    "Grüße",
    "日本語",
    "🦆",
    "x" * 70000,
]
VALUES_JSON = [
    '""',
    '"plain"',
    r'"quote \" and \\ back"',
    '"a,b"',
    r'"line\nbreak\r\n"',
    r'"tab\t\u0001"',
    '"Grüße"',
    '"日本語"',
    '"🦆"',
    '"' + "x" * 70000 + '"',
]
VALUES_CSV = [
    '""',
    "plain",
    '"quote "" and \\ back"',
    '"a,b"',
    '"line\nbreak\r\n"',
    "tab\t\u0001",
    "Grüße",
    "日本語",
    "🦆",
    "x" * 70000,
]

TEXTS = [
    Case("string", pa.array(VALUES, pa.string()), "STRING", VALUES_JSON, VALUES_CSV),
    Case("large_string", pa.array(VALUES, pa.large_string()), "STRING", VALUES_JSON, VALUES_CSV),
    Case("string_view", pa.array(VALUES, pa.string_view()), "STRING", VALUES_JSON, VALUES_CSV),
    Case(
        "dictionary",
        pa.array(["b", "a", "b", ""]).dictionary_encode(),
        "SYMBOL",
        quoted(["b", "a", "b", ""]),
        ["b", "a", "b", '""'],
    ),
    Case(
        "dictionary of small indices",
        pa.array(["x", "y", "x"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.large_string())),
        "SYMBOL",
        quoted(["x", "y", "x"]),
    ),
    Case(
        "dictionary of unsigned indices",
        pa.array(["x", "y", "x"]).dictionary_encode().cast(pa.dictionary(pa.uint16(), pa.string())),
        "SYMBOL",
        quoted(["x", "y", "x"]),
    ),
    Case("dictionary of numbers", pa.array([7, 9, 7]).dictionary_encode(), "LONG", ["7", "9", "7"]),
    Case(
        "binary",
        pa.array([b"", b"\x00\xff\xfe", b"svc"]),
        "BINARY",
        quoted(["", "AP/+", "c3Zj"]),
        ['""', "AP/+", "c3Zj"],
    ),
    Case("large_binary", pa.array([b"\x01", b"svc"], pa.large_binary()), "BINARY", quoted(["AQ==", "c3Zj"])),
    Case(
        "binary_view",
        pa.array([b"\x01", b"longer than twelve bytes"], pa.binary_view()),
        "BINARY",
        quoted(["AQ==", "bG9uZ2VyIHRoYW4gdHdlbHZlIGJ5dGVz"]),
    ),
    Case("fixed_size_binary", pa.array([b"abc", b"\x00\x01\x02"], pa.binary(3)), "BINARY", quoted(["YWJj", "AAEC"])),
    Case(
        "uuid",
        pa.array([uuid.UUID(int=0).bytes, uuid.UUID("01234567-89ab-cdef-0123-456789abcdef").bytes], pa.uuid()),
        "UUID",
        quoted(["00000000-0000-0000-0000-000000000000", "01234567-89ab-cdef-0123-456789abcdef"]),
    ),
    Case("null", pa.nulls(2), "STRING", ["null", "null"], ["", ""]),
]
