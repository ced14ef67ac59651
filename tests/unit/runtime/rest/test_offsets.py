"""The user and reason of a change of offsets."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from runtime.rest.offsets import origin


def request(**headers: bytes) -> Request:
    raw = [(f"headrace-{name}".encode(), value) for name, value in headers.items()]
    return Request({"type": "http", "headers": raw, "client": ("127.0.0.1", 1)})


@pytest.mark.parametrize(
    ("sent", "kept"), [("zurück, 昨日".encode(), "zurück, 昨日"), ("zurück".encode("latin-1"), "zurück"), (b"", "")]
)
def test_a_reason_may_be_in_any_language(sent: bytes, kept: str) -> None:
    found = origin(request(user=b"ann", reason=sent))
    assert (found.who, found.why) == ("ann@127.0.0.1", kept)


def test_the_length_of_a_reason_is_limited() -> None:
    assert len(origin(request(reason=b"x" * 10_000)).why) < 2_000
