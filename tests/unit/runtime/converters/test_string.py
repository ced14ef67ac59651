"""StringConverter."""

from __future__ import annotations

import pytest

from runtime.api.data.schema import STRING_SCHEMA
from runtime.api.errors import ConfigError
from runtime.converters.string import StringConverter
from tests.support.tasks.schemas import LINE


def test_string() -> None:
    converter = StringConverter()
    converter.configure({}, False)
    assert converter.from_connect("t", STRING_SCHEMA, "gr\udcfcn") == b"gr\xfcn"
    assert converter.to_connect("t", b"gr\xfcn")[1] == "gr\udcfcn"
    assert converter.from_connect("t", LINE, {"line": "a"}) == b"Struct{line=a}"
    assert converter.from_connect("t", None, None) is None
    assert converter.to_connect("t", None)[1] is None
    with pytest.raises(ConfigError, match="Unsupported encoding no-such"):
        converter.configure({"converter.encoding": "no-such"}, False)
