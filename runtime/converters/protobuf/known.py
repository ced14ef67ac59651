"""Names of Protobuf and of Confluent's converter, and the files that every schema may import."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

NAMESPACE = "io.confluent.connect.protobuf"
ENUM, UNION, TAG = f"{NAMESPACE}.Enum", f"{NAMESPACE}.Union", f"{NAMESPACE}.Tag"
TYPE, WRAPPER = f"{NAMESPACE}.Type", f"{NAMESPACE}.Wrapper"
GENERAL_ENUM, GENERAL_UNION = "org.apache.kafka.connect.data.Enum", "org.apache.kafka.connect.data.Union"
CONNECT_TYPE, PRECISION = "connect.type", "connect.decimal.precision"

DECIMAL_TYPE, DATE_TYPE, TIME_TYPE = "confluent.type.Decimal", "google.type.Date", "google.type.TimeOfDay"
TIMESTAMP_TYPE = "google.protobuf.Timestamp"
WRAPPERS_FILE = "google/protobuf/wrappers.proto"
FILES = {
    DECIMAL_TYPE: "confluent/type/decimal.proto",
    DATE_TYPE: "google/type/date.proto",
    TIME_TYPE: "google/type/timeofday.proto",
    TIMESTAMP_TYPE: "google/protobuf/timestamp.proto",
}
"""The file of each message type for a logical type."""

_MODULE = re.compile(r"google/(?:protobuf|type)/[a-z0-9_]+\.proto")
_TEXTS = {
    "confluent/meta.proto": 'syntax = "proto3"; package confluent;',
    FILES[DECIMAL_TYPE]: (
        'syntax = "proto3"; package confluent.type; '
        "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
    ),
}


def wrapper(kind: str) -> str:
    """The message type that wraps a scalar: `int32` gives `google.protobuf.Int32Value`."""
    if kind.startswith("uint"):
        return f"google.protobuf.UInt{kind[4:]}Value"
    return f"google.protobuf.{kind.capitalize()}Value"


def known_file(name: str) -> Any:
    """The FileDescriptorProto of a file of Google's or Confluent's types; None for other names."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    from runtime.converters.protobuf.parse import parse

    if name in _TEXTS:
        return parse(_TEXTS[name], name).proto
    if _MODULE.fullmatch(name) is None:
        return None
    try:
        module = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError:
        return None
    return FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
