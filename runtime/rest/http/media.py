"""Media types in request headers, parsed as strictly as Connect's HTTP server parses them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers

from runtime.herder.errors import BadRequest

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_PARAMETER = rf'({_TOKEN})=({_TOKEN}|"(?:[^"\\]|\\.)*+")'
_SEPARATED = rf"[ \t]*+;[ \t]*+(?:{_PARAMETER})?"  # two semicolons in a row count as one
_MEDIA = re.compile(rf"[ \t]*+({_TOKEN})(?:/({_TOKEN}))?((?:{_SEPARATED})*+)[ \t]*+")
_ONE_PARAMETER = re.compile(_SEPARATED)
_QUALITY = re.compile(r"0?(\.[0-9]{0,3})?|1(\.0{0,3})?")


@dataclass(frozen=True, slots=True)
class Media:
    """A media type or range, in which `*` is any type or subtype. Types and parameter names are in lower case."""

    type: str
    subtype: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def quality(self) -> float:
        """From 0 to 1; of a range in `Accept`."""
        return next((float(value.strip('"').rstrip(".") or 0) for name, value in self.parameters if name == "q"), 1.0)

    def meets(self, media: str) -> bool:
        """Whether this is the given type, or a range that contains it."""
        kind, _, subkind = media.partition("/")
        return self.type in (kind, "*") and self.subtype in (subkind, "*")


def preferred(headers: Headers, offers: Sequence[str]) -> str | None:
    """The offered type with the highest quality, the first of several; None if the client accepts none. Raises
    BadRequest for a malformed header."""
    ranges = accepted(headers)
    qualities = {offer: [media.quality for media in ranges if media.meets(offer)] for offer in offers}
    acceptable = [offer for offer in offers if qualities[offer]]
    return max(acceptable, key=lambda offer: max(qualities[offer]), default=None)


def content_type(headers: Headers) -> Media | None:
    """The declared type of the body; None without the header. Raises BadRequest for a malformed header."""
    given = headers.getlist("content-type")
    if not given:
        return None
    text = ", ".join(given)  # two headers are malformed
    match = _MEDIA.fullmatch(text)
    if match is None or match[2] is None:
        raise BadRequest(f"The header Content-Type, '{text}', is not a media type")
    return _media(match)


def accepted(headers: Headers) -> tuple[Media, ...]:
    """The media types of `Accept` in their order; `*/*` without the header. Raises BadRequest for a malformed
    header."""
    text = ", ".join(headers.getlist("accept"))
    return tuple(_accepted(text)) if text else (Media("*", "*"),)


def _accepted(text: str) -> Iterator[Media]:
    at = 0
    while at < len(text):  # a comma at the end is allowed
        match = _MEDIA.match(text, at)
        if match is None or text[match.end() : match.end() + 1] not in ("", ","):
            raise BadRequest(f"The header Accept, '{text}', is not a list of media types")
        media = _media(match)
        for name, value in media.parameters:
            if name == "q" and not _QUALITY.fullmatch(value.strip('"')):
                raise BadRequest(
                    f"The header Accept, '{text}', has the quality '{value}', which is not between 0 and 1"
                )
        yield media
        at = match.end() + 1


def _media(match: re.Match[str]) -> Media:
    parameters = ((p[1].lower(), p[2]) for p in _ONE_PARAMETER.finditer(match[3]) if p[1])
    return Media(match[1].lower(), (match[2] or "*").lower(), tuple(parameters))
