"""Dates, times and durations, given as their integer representation."""

import pyarrow as pa

from .case import Case, quoted

MAX64 = 2**63 - 1


def raw(values, buffer_type, arrow_type):
    """Values of a type from their integer representation."""
    return pa.array(values, buffer_type).view(arrow_type)


def timestamps(name, unit, zone, values, texts):
    arrow_type = pa.timestamp(unit, tz=zone)
    server_type = "TIMESTAMP_NS" if unit == "ns" else "TIMESTAMP"
    return Case(name, raw(values, pa.int64(), arrow_type), server_type, quoted(texts))


TIMES = [
    Case(
        "date32",
        raw([0, 19724, -719528, -719529, 2932897], pa.int32(), pa.date32()),
        "DATE",
        quoted(
            [
                "1970-01-01T00:00:00.000Z",
                "2024-01-02T00:00:00.000Z",
                "0000-01-01T00:00:00.000Z",
                "-000001-12-31T00:00:00.000Z",
                "+010000-01-01T00:00:00.000Z",
            ]
        ),
    ),
    Case(
        "date32 at its ends",
        raw([2**31 - 1, -(2**31) + 1], pa.int32(), pa.date32()),
        "DATE",
        quoted(["infinity", "-infinity"]),
    ),
    Case("date64", raw([86400000 * 19724], pa.int64(), pa.date64()), "DATE", quoted(["2024-01-02T00:00:00.000Z"])),
    timestamps(
        "timestamp[s]", "s", None, [0, 1704164645], ["1970-01-01T00:00:00.000000Z", "2024-01-02T03:04:05.000000Z"]
    ),
    timestamps(
        "timestamp[ms]", "ms", None, [1704164645678, -1], ["2024-01-02T03:04:05.678000Z", "1969-12-31T23:59:59.999000Z"]
    ),
    timestamps(
        "timestamp[us]",
        "us",
        None,
        [1704164645678901, -62167219200000000, -62167219200000001, 253402300800000000],
        [
            "2024-01-02T03:04:05.678901Z",
            "0000-01-01T00:00:00.000000Z",
            "-000001-12-31T23:59:59.999999Z",
            "+010000-01-01T00:00:00.000000Z",
        ],
    ),
    timestamps("timestamp[us] at its ends", "us", None, [MAX64, -MAX64], ["infinity", "-infinity"]),
    timestamps("timestamp[us, UTC]", "us", "UTC", [1704164645678901], ["2024-01-02T03:04:05.678901Z"]),
    timestamps(
        "timestamp[us, Europe/Berlin]", "us", "Europe/Berlin", [1704164645678901], ["2024-01-02T03:04:05.678901Z"]
    ),
    timestamps("timestamp[ms, +02:00]", "ms", "+02:00", [1704164645678], ["2024-01-02T03:04:05.678000Z"]),
    timestamps(
        "timestamp[ns]",
        "ns",
        None,
        [1704164645678901234, -1],
        ["2024-01-02T03:04:05.678901234Z", "1969-12-31T23:59:59.999999999Z"],
    ),
    Case(
        "time32[s]", raw([0, 86399], pa.int32(), pa.time32("s")), "TIME", quoted(["00:00:00.000000", "23:59:59.000000"])
    ),
    Case("time32[ms]", raw([11045678], pa.int32(), pa.time32("ms")), "TIME", quoted(["03:04:05.678000"])),
    Case("time64[us]", raw([11045678901], pa.int64(), pa.time64("us")), "TIME", quoted(["03:04:05.678901"])),
    Case("time64[ns]", raw([11045678901234], pa.int64(), pa.time64("ns")), "TIME", quoted(["03:04:05.678901234"])),
    Case(
        "duration[s]",
        raw([0, 3723, -3723], pa.int64(), pa.duration("s")),
        "DURATION",
        quoted(["PT0S", "PT1H2M3S", "PT-1H-2M-3S"]),
    ),
    Case(
        "duration[ms]",
        raw([3723500, -500], pa.int64(), pa.duration("ms")),
        "DURATION",
        quoted(["PT1H2M3.5S", "PT-0.5S"]),
    ),
    Case(
        "duration[us]",
        raw([1, 90000000000], pa.int64(), pa.duration("us")),
        "DURATION",
        quoted(["PT0.000001S", "PT25H"]),
    ),
    Case(
        "duration[ns]",
        raw([1, MAX64], pa.int64(), pa.duration("ns")),
        "DURATION",
        quoted(["PT0.000000001S", "PT2562047H47M16.854775807S"]),
    ),
    Case(
        "month_day_nano_interval",
        pa.array([(14, 3, 14706500000000), (0, 0, 0), (-1, 2, -1500000000)], pa.month_day_nano_interval()),
        "INTERVAL",
        quoted(["P1Y2M3DT4H5M6.5S", "PT0S", "P-1M2DT-1.5S"]),
    ),
]
