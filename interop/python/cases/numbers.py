"""Numbers and booleans."""

import decimal

import pyarrow as pa

from .case import Case, quoted

NAN, INF = float("nan"), float("inf")


def digits(values):
    return [str(value) for value in values]


def integers(name, arrow_type, server_type, values):
    return Case(name, pa.array(values, arrow_type), server_type, digits(values))


def decimals(name, arrow_type, texts, server_type):
    return Case(name, pa.array([decimal.Decimal(text) for text in texts], arrow_type), server_type, quoted(texts))


NUMBERS = [
    Case("bool", pa.array([True, False]), "BOOLEAN", ["true", "false"]),
    integers("int8", pa.int8(), "BYTE", [-128, 0, 127]),
    integers("int16", pa.int16(), "SHORT", [-32768, 0, 32767]),
    integers("int32", pa.int32(), "INT", [-(2**31), 0, 2**31 - 1]),
    integers("int64", pa.int64(), "LONG", [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1]),
    integers("uint8", pa.uint8(), "SHORT", [0, 255]),
    integers("uint16", pa.uint16(), "INT", [0, 65535]),
    integers("uint32", pa.uint32(), "LONG", [0, 2**32 - 1]),
    integers("uint64", pa.uint64(), "ULONG", [0, 2**53 + 1, 2**64 - 1]),
    Case(
        "int128",
        pa.array([decimal.Decimal(10**38 - 1), decimal.Decimal(-(2**100)), decimal.Decimal(0)], pa.decimal128(38, 0)),
        "LONG128",
        digits([10**38 - 1, -(2**100), 0]),
        metadata={"svc:type": "LONG128"},
    ),
    Case(
        "float16",
        pa.array([1.5, 0.1, 65504.0, NAN, -INF], pa.float16()),
        "FLOAT",
        ["1.5", "0.099975586", "65504", "null", "null"],
        ["1.5", "0.099975586", "65504", "NaN", "-Infinity"],
    ),
    Case(
        "float32",
        pa.array([0.1, 16777216.0, 3.4028234663852886e38, 1e-45, NAN, INF, -INF], pa.float32()),
        "FLOAT",
        ["0.1", "16777216", "3.4028235e+38", "1e-45", "null", "null", "null"],
        ["0.1", "16777216", "3.4028235e+38", "1e-45", "NaN", "Infinity", "-Infinity"],
    ),
    Case(
        "float64",
        pa.array([0.1, 1 / 3, 1e21, 5e-324, 1.7976931348623157e308, 123456789.25, NAN, INF, -INF]),
        "DOUBLE",
        ["0.1", "0.3333333333333333", "1e+21", "5e-324", "1.7976931348623157e+308", "123456789.25"] + ["null"] * 3,
        ["0.1", "0.3333333333333333", "1e+21", "5e-324", "1.7976931348623157e+308", "123456789.25"]
        + ["NaN", "Infinity", "-Infinity"],
    ),
    decimals("decimal32", pa.decimal32(9, 2), ["1.10", "-0.05", "9999999.99", "0.00"], "DECIMAL(9,2)"),
    decimals("decimal64", pa.decimal64(18, 4), ["1.1000", "-99999999999999.9999"], "DECIMAL(18,4)"),
    decimals("decimal128", pa.decimal128(38, 10), ["-1.5000000000", "9" * 28 + ".0123456789"], "DECIMAL(38,10)"),
    decimals("decimal of scale 0", pa.decimal128(20, 0), ["18446744073709551616", "-1"], "DECIMAL(20,0)"),
    Case(
        "decimal of negative scale",
        pa.array([decimal.Decimal("12E+3"), decimal.Decimal("-1E+3")], pa.decimal128(5, -3)),
        "DECIMAL(5,-3)",
        quoted(["12000", "-1000"]),
    ),
    decimals(
        "decimal256", pa.decimal256(76, 38), ["9" * 38 + "." + "1" * 38, "-0." + "0" * 37 + "1"], "DECIMAL(76,38)"
    ),
]
