"""HTML error pages: the message is extracted."""

from __future__ import annotations

import pytest

from tui.errors import Refused
from tui.wire.endpoint import decode


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (
            b"<html><title>Error 400 x</title><tr><th>MESSAGE:</th><td>Ambiguous &amp; bad</td></tr>",
            ": Ambiguous & bad",
        ),
        (b"<html><head><title>502 Bad Gateway</title></head>", ": 502 Bad Gateway"),
        (b"<p>sorry</p>", ""),
        (b"no page", ": no page"),
    ],
)
def test_the_message_of_an_error_page(page: bytes, reason: str) -> None:
    with pytest.raises(Refused) as caught:
        decode(400, page)
    assert caught.value.message == f"HTTP 400{reason}"
