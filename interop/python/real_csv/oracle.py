"""The type and the values of a CSV column, by the rules of docs/http-api.md, with nothing but Python."""

import datetime as dt
import fractions
import re

WHOLE = re.compile(r"0|-?[1-9][0-9]*")
NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?"
)
EPOCH = dt.datetime(1970, 1, 1)


def whole(low, high):
    return lambda text: int(text) if WHOLE.fullmatch(text) and low <= int(text) <= high else None


def double(text):
    """The nearest double, if it is in the range of doubles; of a whole number, only an exact one."""
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    if abs(value) == float("inf") or (value == 0 and fractions.Fraction(text) != 0):
        return None
    return None if WHOLE.fullmatch(text) and int(text) != int(value) else value


def boolean(text):
    return {"true": True, "false": False}.get(text.lower())


def day(text):
    try:
        return dt.date.fromisoformat(text) if DAY.fullmatch(text) else None
    except ValueError:
        return None


def instant(max_digits, zones):
    """Nanoseconds since 1970 of a time with or without a zone."""

    def read(text):
        match = TIME.fullmatch(text)
        if match is None or day(match[1]) is None:
            return None
        _, hour, minute, second, fraction, zone = match.groups()
        if not zones(zone) or len(fraction or "") > max_digits:
            return None
        try:
            clock = dt.time(int(hour or 0), int(minute or 0), int(second or 0))
        except ValueError:
            return None
        seconds = round((dt.datetime.combine(day(match[1]), clock) - EPOCH).total_seconds())
        return (seconds - offset(zone)) * 10**9 + int((fraction or "").ljust(9, "0"))

    return read


def offset(zone):
    if zone in (None, "Z"):
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[3:].lstrip(":") or 0)
    return (-60 if zone[0] == "-" else 60) * minutes


def is_zoned(zone):
    return zone is not None


def is_utc(zone):
    return zone in (None, "Z")


READERS = [
    ("BOOLEAN", boolean),
    ("LONG", whole(-(2**63), 2**63 - 1)),
    ("ULONG", whole(0, 2**64 - 1)),
    ("LONG128", whole(-(2**127), 2**127 - 1)),
    ("DOUBLE", double),
    ("DATE", day),
    ("TIMESTAMP", instant(6, is_zoned)),
    ("TIMESTAMP", instant(6, is_utc)),
    ("TIMESTAMP_NS", instant(9, is_utc)),
    ("TIMESTAMP_NS", instant(9, is_zoned)),
]


def expected(texts):
    """The type of a column with these texts, and a function from a text to its value."""
    given = set(texts)
    for name, read in READERS if given else []:
        if all(read(text) is not None for text in given):
            return name, read
    return "STRING", str
