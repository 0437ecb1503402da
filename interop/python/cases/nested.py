"""Nested values."""

import datetime as dt
import decimal

import pyarrow as pa

from .case import Case

NAN = float("nan")
PLACE = pa.struct([("city", pa.string()), ("at", pa.list_(pa.float64()))])

NESTED = [
    Case(
        "list",
        pa.array([[1, None, 3], [], [2**60]]),
        "ARRAY",
        ["[1,null,3]", "[]", "[1152921504606846976]"],
        ['"[1,null,3]"', "[]", "[1152921504606846976]"],
    ),
    Case(
        "large_list", pa.array([["a"], []], pa.large_list(pa.string())), "ARRAY", ['["a"]', "[]"], ['"[""a""]"', "[]"]
    ),
    Case(
        "fixed_size_list",
        pa.array([[1, 2], [3, None]], pa.list_(pa.int16(), 2)),
        "ARRAY",
        ["[1,2]", "[3,null]"],
        ['"[1,2]"', '"[3,null]"'],
    ),
    Case(
        "struct",
        pa.array([{"city": "Bonn", "at": [50.7, 7.1]}, {"city": None, "at": None}], PLACE),
        "STRUCT",
        ['{"city":"Bonn","at":[50.7,7.1]}', '{"city":null,"at":null}'],
        ['"{""city"":""Bonn"",""at"":[50.7,7.1]}"', '"{""city"":null,""at"":null}"'],
    ),
    Case(
        "map",
        pa.array([[("a", 1), ("b", None)], []], pa.map_(pa.string(), pa.int32())),
        "MAP",
        ['[["a",1],["b",null]]', "[]"],
        ['"[[""a"",1],[""b"",null]]"', "[]"],
    ),
    Case(
        "list of structs",
        pa.array([[{"city": "Bonn", "at": []}, None], None, []], pa.list_(PLACE)),
        "ARRAY",
        ['[{"city":"Bonn","at":[]},null]', "null", "[]"],
        ['"[{""city"":""Bonn"",""at"":[]},null]"', "", "[]"],
    ),
    Case(
        "list of timestamps",
        pa.array([[dt.datetime(2024, 1, 2, 3, 4, 5, 678901, dt.timezone.utc)]], pa.list_(pa.timestamp("us", tz="UTC"))),
        "ARRAY",
        ['["2024-01-02T03:04:05.678901Z"]'],
        ['"[""2024-01-02T03:04:05.678901Z""]"'],
    ),
    Case(
        "list of decimals and NaN",
        pa.array(
            [[{"d": decimal.Decimal("1.10"), "f": NAN}]],
            pa.list_(pa.struct([("d", pa.decimal128(5, 2)), ("f", pa.float64())])),
        ),
        "ARRAY",
        ['[{"d":"1.10","f":null}]'],
        ['"[{""d"":""1.10"",""f"":null}]"'],
    ),
    Case(
        "struct with a dictionary",
        pa.StructArray.from_arrays([pa.array(["x", "y", "x"]).dictionary_encode()], ["s"]),
        "STRUCT",
        ['{"s":"x"}', '{"s":"y"}', '{"s":"x"}'],
        ['"{""s"":""x""}"', '"{""s"":""y""}"', '"{""s"":""x""}"'],
    ),
    Case(
        "map of lists",
        pa.array([[(1, ["a", None])], None], pa.map_(pa.int64(), pa.list_(pa.string()))),
        "MAP",
        ['[[1,["a",null]]]', "null"],
        ['"[[1,[""a"",null]]]"', ""],
    ),
    Case(
        "list of lists",
        pa.array([[[1], None, []], []], pa.list_(pa.list_(pa.int8()))),
        "ARRAY",
        ["[[1],null,[]]", "[]"],
        ['"[[1],null,[]]"', "[]"],
    ),
]
