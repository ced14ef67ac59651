"""Media types, with the answers of Connect 4.3."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from runtime.herder.errors import BadRequest
from runtime.rest.http.media import Media, accepted, content_type, preferred
from runtime.rest.monitoring import METRICS, OPEN_METRICS, TEXT

JSON = "application/json"


def refusal(text: str) -> Media | None:
    return content_type(Headers({"content-type": text}))


def accepts(text: str, media: str = JSON) -> bool:
    return preferred(Headers({"accept": text}), [media]) is not None


@pytest.mark.parametrize(
    "text",
    [JSON, "APPLICATION/JSON", f"  {JSON}\t", f"{JSON};", f"{JSON} ;a=b", f"{JSON};;a=b", f'{JSON};charset="u;8"',
     f"{JSON}; charset=nonsense", "*/json", "*/*", "application/*;a=b"],
)  # fmt: skip
def test_media_types_that_include_json(text: str) -> None:
    found = refusal(text)
    assert found is not None
    assert found.meets(JSON)


@pytest.mark.parametrize("text", ["text/json", "application/js*n", "application/vnd.api+json", "text/*"])
def test_media_types_that_do_not_include_json(text: str) -> None:
    found = refusal(text)
    assert found is not None
    assert not found.meets(JSON)


@pytest.mark.parametrize(
    "text",
    ["", "garbage", "*", "/", "application/", "/json", "application /json", "application/ json", f"{JSON}; charset",
     f"{JSON};a=", f"{JSON};=b", f"{JSON}; a = b", f'{JSON};a="b', f"{JSON};a=b c", f"{JSON}/xml", f"{JSON},",
     f"{JSON}, text/plain", f"{JSON} charset=utf-8", "äpplication/json", ";", f"{JSON} (c)"],
)  # fmt: skip
def test_malformed_media_types(text: str) -> None:
    with pytest.raises(BadRequest, match="Content-Type"):
        refusal(text)


def test_a_missing_content_type() -> None:
    assert content_type(Headers({})) is None


@pytest.mark.parametrize(
    "text",
    ["", "*", "*;q=1", "application", "application;q=0.5", "text, application", "*/json", f"{JSON},", f"{JSON};q=0",
     f"{JSON};q=.5", f"{JSON};q=1.", f'{JSON};q="0.5"', f"{JSON};qs=2", f'text/html, {JSON};a="b,c"', "x, */*;q=0"],
)  # fmt: skip
def test_accept_headers_that_allow_json(text: str) -> None:
    assert accepts(text)


@pytest.mark.parametrize("text", ["json", "text/html, garbage", "**/*", "application/*+json", "0.5", "*/html"])
def test_accept_headers_that_do_not_allow_json(text: str) -> None:
    assert not accepts(text)


@pytest.mark.parametrize(
    "text",
    [",", f",{JSON}", f"text/html,,{JSON}", "/", "application/", "*/*/*", "* / *", f"text/html {JSON}", f"{JSON};a",
     f"{JSON};q=", f"{JSON};q=2", f"{JSON};q=1.1", f"{JSON};q=0.1234", f"{JSON};q=abc", f"{JSON};q=-1", f"{JSON};Q=2",
     "text/plain;q=abc", ";", "=", "é"],
)  # fmt: skip
def test_malformed_accept_headers(text: str) -> None:
    with pytest.raises(BadRequest, match="Accept"):
        accepted(Headers({"accept": text}))


def test_a_long_header_is_refused_at_once() -> None:
    with pytest.raises(BadRequest):
        refusal(f"{JSON}{'; ' * 30_000}(")


def test_several_accept_headers_are_one_list() -> None:
    headers = Headers(raw=[(b"accept", b"text/html"), (b"accept", b"application/json;q=0.3;charset=utf-8")])
    assert accepted(headers)[1] == Media("application", "json", (("q", "0.3"), ("charset", "utf-8")))


@pytest.mark.parametrize(
    ("text", "media"),
    [
        ("application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", OPEN_METRICS),
        ("application/openmetrics-text", OPEN_METRICS),
        ("text/plain;q=.9, application/openmetrics-text;q=.8", TEXT),
        ("*/*", TEXT),
        ("text/*;q=1.", TEXT),
        ("", TEXT),
        ("text/html", None),
    ],
)
def test_the_type_of_metrics(text: str, media: str | None) -> None:
    assert preferred(Headers({"accept": text}), METRICS) == media
