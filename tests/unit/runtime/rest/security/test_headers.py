"""`response.http.headers.config` as Jetty reads it."""

from __future__ import annotations

import pytest
from starlette.datastructures import MutableHeaders

from runtime.api.errors import ConfigError
from runtime.rest.security.headers import HeaderRule, parse_rules


def test_rules_with_and_without_quotes() -> None:
    text = 'add X-XSS-Protection: 1; mode=block, "set Cache-Control: no-cache, no-store", setDate Expires: 1000'
    assert parse_rules(text) == (
        HeaderRule(True, False, "X-XSS-Protection", "1; mode=block"),
        HeaderRule(False, False, "Cache-Control", "no-cache, no-store"),
        HeaderRule(False, True, "Expires", "1000"),
    )
    assert parse_rules("") == parse_rules("  ") == ()


def test_set_replaces_and_add_adds() -> None:
    headers = MutableHeaders({"a": "0"})
    for rule in parse_rules("set a: 1, add a: 2, addDate d: 0"):
        rule.apply(headers)
    assert headers.getlist("a") == ["1", "2"]
    assert headers["d"].endswith("GMT")


@pytest.mark.parametrize("text", ["a: b", "set : x", "set a b", 'set a: "b', "setDate a: soon", '"set a: b\nc: d"'])
def test_malformed_rules_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"response\.http\.headers\.config"):
        parse_rules(text)
