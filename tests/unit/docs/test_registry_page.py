"""docs/schema-registry.md has the options of the converters that it describes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from runtime.converters.apicurio.avro import ApicurioAvroConverter
from runtime.converters.apicurio.ext_json import ExtJsonConverter
from runtime.converters.avro.avro import AvroConverter
from runtime.converters.json_schema.json_schema import JsonSchemaConverter
from runtime.converters.protobuf.protobuf import ProtobufConverter

PAGE = (Path(__file__).parents[3] / "docs/schema-registry.md").read_text("utf-8")


@pytest.mark.parametrize(
    "converter", [AvroConverter, ProtobufConverter, JsonSchemaConverter, ApicurioAvroConverter, ExtJsonConverter]
)
def test_the_page_has_every_option(converter: Any) -> None:
    named = set(re.findall(r"`([\w.-]+)`", PAGE))
    ends = tuple(name for name in named if name.startswith("."))  # `.keystore.password` after the row's first key
    missing = [key.name for key in converter.config_def if key.name not in named and not key.name.endswith(ends)]
    assert missing == ["converter.type"]
