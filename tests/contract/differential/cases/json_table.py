"""Edge cases of JsonConverter: texts, schemas and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.contract.differential.cases.converters import JSON, PLAIN_JSON, read, written
from tests.contract.differential.cases.data import (
    DATE,
    DECIMAL,
    TIME,
    array_of,
    data,
    decimal,
    decimal_of,
    double,
    integer,
    logical_of,
    map_of,
    schema,
    struct_of,
)

Json = Any
_UNFILLED = {"replace.null.with.default": "false"}


def _each(template: str, *texts: str) -> list[str]:
    return [template.replace("@", text) for text in texts]


def _nested(depth: int) -> Json:
    value: Json = "x"
    for _ in range(depth):
        value = {"a": [value]}
    return value


def _envelope(of: str, payload: str, config: Json = None) -> Json:
    return read(JSON, f'{{"schema":{of},"payload":{payload}}}'.encode(), config)


_TEXTS: list[bytes] = [
    *(
        b"",
        b" ",
        b"null",
        b"\xef\xbb\xbf1",
        b"1 2",
        b"[1] x",
        b"{} {",
        b"tru",
        b"NaN",
        b"+1",
        b"1.",
        b".5",
        b"1e5",
        b"-",
    ),
    *(b"007", b"-007", b"00", b'{"a":007}', b"[01,-02,00]", b'{"a":-01.5,"b":"007"}', b'["0\\"01",01]', b"[0x1]"),
    *(b"[1e05]", b"01.5e1", b"-0", b'{"a":{"b":[00]}}', b'{"0":"00","1":01}'),
    *(b'"\\ud800"', b'{"\\udc80":"\\udfff"}', b'["\\ud83d\\ude00"]', b'"\xed\xa0\x80"', b'"\xff"', b'"\x01"', b'"\\x"'),
    *(b"9" * 999, b"9" * 1001, b"[" + b"9" * 1000 + b"]", b'"' + b"9" * 1001 + b'"', b"1e400"),
    b"[1e400]",
    b"1e-400",
    *(b"[-0.0,-0,0.0]", b"-0.0", b"9223372036854775807", b"9223372036854775808", b"[18446744073709551616]"),
    *(b"123456789012345678901234567890", b"-9223372036854775809", b"[9223372036854775808]"),
    b"[" * 100 + b"]" * 100,
    *('["ä",1]'.encode("utf-16"), '{"a":1}'.encode("utf-16-be"), '{"a":1}'.encode("utf-32-le")),
    *(
        b'{"a":1,"a":2}',
        b'{"a":1,}',
        b"[1,]",
        b"/* c */ 1",
        b"{'a':1}",
        b"{a:1}",
        b"[1 2]",
        b"\x00",
        b"[\x0b1]",
        b'{"a"}',
    ),
]
_DEEP = [
    *(b"[" * depth + b"]" * depth for depth in (254, 300, 900, 999, 1000, 1001, 5000)),
    *(b'{"a":' * depth + b"01" + b"}" * depth for depth in (254, 300, 900, 999, 1001)),
]
_STRUCT = '{"type":"struct","fields":[{"type":"int32","optional":true,"field":"a"}]@}'
_BARE = _STRUCT.replace("@", "")
_SCHEMAS = [
    *_each('{"type":"int32","version":@}', "4294967297", "2147483648", "-2147483649", "1.0",
           '"1"', "true", "1e2", "null"),
    *_each('{"type":"double","default":@}', "0.0", "-0.0", "0", "null", '"x"', "1e400"),
    *_each('{"type":"double","optional":true,"default":@}', "0.0", "-0.0", "null"),
    *_each('{"type":"float","default":@}', "0.0", "-0.0", "1e39"),
    *_each('{"type":"int8","default":@}', "300", "1.9", '"1"', "[]"),
    *_each('{"type":"string","default":@}', '"x"', "1", "null", '"\\ud800"'),
    *_each('{"type":"boolean","default":@}', "true", "1", '"true"'),
    *_each('{"type":"@"}', "", "INT32", "float32", "decimal", "struct", "array", "map"),
    *_each('{"type":"array","items":@}', "null", "{}", '"int32"', '{"type":"array","items":null}'),
    *_each('{"type":"map","keys":{"type":"string"},"values":@}', "null", "{}", '{"type":"int8"}'),
    *_each('{"type":"map","keys":@,"values":{"type":"int8"}}', "null", "{}", '{"type":"int8"}'),
    *_each('{"type":"struct","fields":@}', "[]", "{}", "[1]", '[{"type":"int8"}]', '[{"type":"int8","field":""}]'),
    *_each('{"type":"struct","fields":[{"type":"int8","field":"a"},{"type":"@","field":"a"}]}', "int8", "no"),
    '{"type":"struct","fields":[{"type":"int8","field":null}]}',
    '{"type":"int32","optional":"true","name":1,"doc":2,"parameters":[]}',
    *_each('{"type":"int32","parameters":@}', '{"a":1}', "{}", '{"a":"b","b":null}'),
    *('{"type":"int32","name":"","doc":""}', "1", "[]", "{}", '"int32"', "true", _BARE),
    *_each(_STRUCT, ',"default":{"a":1}', ',"default":{}', ',"optional":true,"default":null'),
    '{"type":"array","items":@,"default":[{"a":1}]}'.replace("@", _BARE),
    *_each('{"type":"bytes","default":@}', '""', '"A"', '"AQ=="', "1"),
    *_each('{"type":"@","name":"org.apache.kafka.connect.data.Timestamp","default":0}', "int32", "int64", "string"),
    *_each('{"type":"@","name":"org.apache.kafka.connect.data.Date"}', "int64", "int32", "struct"),
    *_each('{"type":"@","name":"org.apache.kafka.connect.data.Decimal"}', "string", "bytes", "int32"),
    *_each('{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"},"default":@}',
           "1.5", '"AQ=="', '""', "null", "-0.0", "1"),
    '{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"x"}}',
    '{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"99999999999"}}',
]  # fmt: skip
_PAYLOADS = ["1", "null", "{}", '"AQ=="', "true", "-1", "1.5"]
_BASE64 = ["", "A", "AQ", "AQ=", "AQ==", " AQ==", "A Q==", "AQ== ", "AQ==AQ==", "AQ==x", "-_==",
           "AQE=", "AQEB", "ä", "\\n",
           "A===", "AQEB\\nAQEB", "=", "AR==", "AQF="]  # fmt: skip
_MESSAGES = [
    *(b"1", b"{}", b"[]", b'{"schema":null}', b'{"payload":1}', b'{"schema":null,"payload":1,"x":2}', b'"x"', b"true"),
    b'{"payload":1,"schema":null}', b' {"schema" : null , "payload" : 1 } ', b'{"schema":null,"payload":1} x',
    b'{"schema":{"type":"int32"},"payload":1,"payload":2}', b'{"schema":{"type":"int32"}}',
    b'{"schema":{"type":"float"},"payload":1e39}', b'{"schema":{"type":"float"},"payload":0.1}',
    b'{"schema":{"type":"float"},"payload":16777217}', b'{"schema":{"type":"float"},"payload":-0.0}',
    b'{"schema":{"type":"double"},"payload":12345678901234567890123}', b'{"schema":{"type":"double"},"payload":-0.0}',
    b'{"schema":{"type":"int8"},"payload":300}', b'{"schema":{"type":"int64"},"payload":1e30}',
    b'{"schema":{"type":"int64"},"payload":18446744073709551617}', b'{"schema":{"type":"int32"},"payload":1.9e1}',
    b'{"schema":{"type":"int32"},"payload":007}', b'{"schema":{"type":"string"},"payload":"\\ud800"}',
    b'{"schema":null,"payload":null}', b'{"schema":{"type":"double"},"payload":007.5}',
]  # fmt: skip
_DECIMAL = _each(
    '{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"@"}}', "2", "0", "-3"
)
_NUMBERS = [
    "-0.0",
    "-0.00",
    "0",
    "-0",
    "1.5",
    "1e3",
    "1E-3",
    "0.10",
    "9" * 999,
    "9" * 1001,
    "true",
    "{}",
    "1.5e400",
    "007",
]


def _of_schemas() -> Iterator[Json]:
    for of in _SCHEMAS:
        yield from (_envelope(of, payload) for payload in _PAYLOADS)
        yield _envelope(of, "null", _UNFILLED)
    for of in (*_DECIMAL, '{"type":"bytes"}'):
        yield from (_envelope(of, f'"{text}"') for text in _BASE64)
        yield from (_envelope(of, text) for text in _NUMBERS)


def _of_contents() -> Iterator[Json]:
    for text in (b"1", b'{"schema":null,"payload":1}', b"", b"x", b"null", None):
        yield read(JSON, text, {"schema.content": '{"type":"int32"}'})
        yield read(JSON, text, {"schema.content": "null"})
    for content in ("", "{", "1", "{}", _BARE, " ", '{"type":"no"}'):
        yield read(JSON, b'{"a":1}', {"schema.content": content})
        yield read(JSON, b'{"a":1}', {"schema.content": content, **PLAIN_JSON})


def _of_writing() -> Iterator[Json]:
    forms = [{"decimal.format": form} for form in ("NUMERIC", "BASE64", "numeric")]
    for unscaled, scale in ((0, 2), (-1, 2), (150, 2), (15, 1), (-5, 0), (1, 30), (7, -3)):
        yield from (written(JSON, decimal_of(2), decimal(unscaled, scale), form) for form in forms)
    for scale in (-400, -7, 0, 6, 7, 400):
        yield from (
            written(JSON, decimal_of(scale), decimal(unscaled, scale), forms[0]) for unscaled in (3, 0, -12345678)
        )
    for kind in ("FLOAT64", "FLOAT32"):
        for default in (0.0, -0.0):
            of = schema(kind, default=double(default))
            yield from (written(JSON, of, value) for value in (None, double(1.0), double(float("nan"))))
    for depth in (100, 254, 300):
        yield from (written(JSON, None, _nested(depth), config) for config in ({}, PLAIN_JSON))
    for text in ("\ud800", "a\udfffb", "\udfff\ud800", "\U0001f600", "\x7f\x00\x1f", "\u2028/", "\\u00ff"):
        yield from (written(JSON, None, value, PLAIN_JSON) for value in (text, {"a": [text]}, {"m": [[text, text]]}))
        yield written(
            JSON, struct_of({"a": schema("STRING"), text: schema("STRING")}), {"st": [["a", text], [text, "x"]]}
        )
    for of in (None, schema("STRING", default="x"), schema("INT8", optional=True), schema("INT8")):
        yield from (
            written(JSON, of, None, config) for config in ({}, PLAIN_JSON, _UNFILLED, {**_UNFILLED, **PLAIN_JSON})
        )
    for kind in ("INT8", "INT16", "INT32", "INT64", "FLOAT64", "STRING", "BOOLEAN", "BYTES"):
        values: tuple[Json, ...] = (integer(2**31), double(float("nan")), "x", True, data(b"\x01"), decimal(1, 0))
        yield from (written(JSON, schema(kind), value) for value in values)


TABLE: list[Json] = [
    *(read(JSON, text, PLAIN_JSON) for text in _TEXTS),
    *(_envelope("null", text.decode()) for text in _TEXTS if text.isascii()),
    *({**read(JSON, text, PLAIN_JSON), "outcome": True} for text in _DEEP),
    *(read(JSON, text, config) for text in _MESSAGES for config in ({}, _UNFILLED)),
    *(read(JSON, text, config) for text in (None, b"") for config in ({}, PLAIN_JSON)),
    *_of_schemas(),
    *_of_contents(),
    *_of_writing(),
    *(written(JSON, None, {"m": [["b", integer(1)], ["a", integer(2)], ["aa", {"m": [["d", None], ["c", True]]}]]},
              PLAIN_JSON, key) for key in (True, False)),
    written(JSON, array_of(schema("STRING")), {"a": [None]}),
    written(JSON, map_of(schema("STRING"), schema("INT8")), {"m": [[None, None]]}),
    written(JSON, schema("ARRAY"), {"a": ["x", integer(1)]}),
    written(JSON, schema("MAP"), {"m": [["x", integer(1)]]}),
    written(JSON, schema("INT32", name=DECIMAL), integer(1)),
    written(JSON, schema("STRING", name=DATE), "x"),
    written(JSON, schema("INT64", name=TIME), {"date": 1}),
    written(JSON, schema("BYTES", name=DECIMAL), decimal(1, 0)),
    written(JSON, struct_of({"a": schema("INT8")}), {"st": []}),
    written(JSON, struct_of({"a": logical_of(DATE)}), {"st": []}),
    written(JSON, struct_of({"a": schema("BYTES")}), {"st": [["a", data(b"\x00\xff")]]}),
    *(written(JSON, None, {"m": [[integer(n), "x"] for n in (3, 17, 1, 33)]}, config) for config in ({}, PLAIN_JSON)),
]  # fmt: skip
