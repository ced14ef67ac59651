"""The parser of .proto files."""

from __future__ import annotations

import pytest

from runtime.api.errors import DataError
from runtime.converters.protobuf.parse import parse

TEXT = """
// a comment
syntax = "proto3"; package a.b;
import "google/protobuf/timestamp.proto"; import public 'x.proto';
option java_package = "com" ".x"; option (own) = { a: 1, b: [2, 3] c < d: "e" > };
message M {
  reserved 4, 6 to 8; reserved "old"; option deprecated = true; extensions 100 to max;
  /* a comment
     of two lines */ string s = 0x1 [json_name = "q", deprecated = true];
  optional int32 i = 2 [(confluent.field_meta) = { params: [ { value: "int16", key: "connect.type" } ] tags: ["a"] }];
  repeated Inner inners = 3 [packed = false];
  map<string, .a.b.M.Inner> by_name = 05;
  oneof kind { option (own).x = 1; int64 n = 9; E e = 10; }
  int32 j = 12 [(confluent.field_meta).params = { key: "connect.type", value: "int8" }];
  message Inner { google.protobuf.Timestamp t = 1; E x = 2; };
  enum E { option allow_alias = true; A = 0; B = 1 [deprecated = true]; C = -1; D = 1; reserved 7; }
}
service S { rpc R (M) returns (stream M) { option (own) = { a: 1 }; } }
"""


def test_all_parts_of_a_file() -> None:
    parsed = parse(TEXT, "t.proto")
    file = parsed.proto
    assert (file.syntax, file.package) == ("proto3", "a.b")
    assert list(file.dependency) == ["google/protobuf/timestamp.proto", "x.proto"]
    assert list(file.public_dependency) == [1]
    message = file.message_type[0]
    fields = {field.name: field for field in message.field}
    assert {name: field.number for name, field in fields.items()} == {
        "s": 1, "i": 2, "inners": 3, "by_name": 5, "n": 9, "e": 10, "j": 12,
    }  # fmt: skip
    assert (fields["s"].type, fields["s"].label) == (9, 1)
    assert (fields["inners"].type_name, fields["inners"].label) == ("Inner", 3)
    assert fields["inners"].options.HasField("packed")
    assert (fields["by_name"].type_name, fields["by_name"].label) == (".a.b.M.ByNameEntry", 3)
    assert [oneof.name for oneof in message.oneof_decl] == ["kind", "_i"]
    assert (fields["n"].oneof_index, fields["i"].oneof_index, fields["i"].proto3_optional) == (0, 1, True)
    assert [(nested.name, nested.options.map_entry) for nested in message.nested_type] == [
        ("ByNameEntry", True), ("Inner", False),
    ]  # fmt: skip
    enum = message.enum_type[0]
    assert [(value.name, value.number) for value in enum.value] == [("A", 0), ("B", 1), ("C", -1), ("D", 1)]
    assert enum.options.allow_alias
    assert parsed.params == {"a.b.M.i": {"connect.type": "int16"}, "a.b.M.j": {"connect.type": "int8"}}


def test_proto2() -> None:
    message = parse(
        "message M { required string a = 1; optional int32 b = 2 [default = -5]; }", "t.proto"
    ).proto.message_type[0]
    assert [(field.name, field.label, field.default_value) for field in message.field] == [("a", 2, ""), ("b", 1, "-5")]
    assert not message.field[1].proto3_optional


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("message M {\n string s = ; }", "line 2: expected an integer instead of ';'"),
        ("message M { string s = 1", "line 1: expected ';' instead of ''"),
        ('edition = "2023";', "editions are not supported"),
        ("message M { optional group G = 1 {} }", "groups are not supported"),
        ("nonsense", "unexpected 'nonsense'"),
    ],
)
def test_invalid_text(text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        parse(text, "t.proto")
