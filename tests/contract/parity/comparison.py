"""Recorded and replayed steps, compared. Free text is not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.contract.parity.normalization import sorted_json
from tests.contract.parity.recorder import Step

Headers = Mapping[str, str]
Difference = tuple[str, Any, Any]
"""Its place, the recorded value, and the replayed one."""

_ABSENT = "<absent>"
_FREE_TEXT = {"message", "trace", "documentation"}
_EXCEPTION_HEADER = "__connect.errors.exception.message"
_REQUEST = ("kind", "method", "path", "request", "request_raw")
_SHOWN = 12
"""Differences of a step in its description."""


def differences(scenario: str, reference: Iterable[Step], steps: Iterable[Step]) -> list[str]:
    """Descriptions of the steps of a scenario that differ from the recorded ones."""
    recorded, replayed = _by_label(scenario, reference), _by_label(scenario, steps)
    found = []
    for label in {**recorded, **replayed}:
        differing = list(step_differences(recorded.get(label), replayed.get(label)))
        if differing:
            lines = (f"    {at}\n      recorded: {_short(a)}\n      replayed: {_short(b)}" for at, a, b in differing)
            found.append("\n".join([f"{scenario} / {label}", *list(lines)[:_SHOWN]]))
    return found


def step_differences(recorded: Step | None, replayed: Step | None) -> Iterator[Difference]:
    if recorded is None or replayed is None:
        yield "step", recorded, replayed
        return
    yield from differing_leaves(_part(recorded, _REQUEST), _part(replayed, _REQUEST))
    if recorded.get("status") != replayed.get("status"):
        if not is_better(recorded, replayed):
            yield "status", recorded.get("status"), replayed.get("status")
            yield "body", recorded.get("body"), replayed.get("body")
        return
    if recorded.get("ok") != replayed.get("ok"):
        yield "ok", recorded.get("ok"), replayed.get("ok")
    is_free = _body_is_free(recorded, replayed)
    yield from _header_differences(recorded.get("headers") or {}, replayed.get("headers") or {}, is_free)
    if not is_free:
        content = [without_text(_part(step, ("body", "data"))) for step in (recorded, replayed)]
        yield from differing_leaves(content[0], content[1])


def _header_differences(recorded: Headers, replayed: Headers, is_free: bool) -> Iterator[Difference]:
    """A body that is not compared may have another content type."""
    for name in ("location",) if is_free else ("location", "content-type", "allow"):
        if recorded.get(name) != replayed.get(name):
            yield f"header {name}", recorded.get(name), replayed.get(name)


def _body_is_free(recorded: Step, replayed: Step) -> bool:
    """Whether another body may stand for a page of Apache's HTTP server or for an error without a body."""
    body = recorded.get("body")
    if isinstance(body, dict) and body.get("_text") == "<not JSON>":
        return body != replayed.get("body")
    return recorded["kind"] == "http" and recorded.get("status", 0) >= 400 and body is None


def is_better(recorded: Step, replayed: Step) -> bool:
    """Whether a client's mistake is named by 4xx rather than answered with 500, or a name with %2F or %25 in its path
    can be addressed: better than the recorded response, and counted as equal."""
    before, now, body = recorded.get("status"), replayed.get("status") or 0, replayed.get("body")
    if before == 500 and 400 <= now < 500:
        return isinstance(body, dict) and body.get("error_code") == now and bool(body.get("message"))
    return before == 400 and re.search("%2[5F]", recorded.get("path") or "", re.I) is not None and 200 <= now < 500


def without_text(value: Any, key: str = "") -> Any:
    """The value without free text."""
    match value:
        case dict():
            return {name: without_text(part, name) for name, part in value.items()}
        case list() if key == "errors":
            return ["<text>" for _ in value]
        case list() if key == "headers":
            return [[name, "<text>" if name == _EXCEPTION_HEADER else part] for name, part in value]
        case list():
            return [without_text(part) for part in value]
        case str() if key in _FREE_TEXT:
            return "<text>"
    return value


def differing_leaves(recorded: Any, replayed: Any, at: str = "") -> Iterator[Difference]:
    match recorded, replayed:
        case dict(), dict():
            for key in sorted({*recorded, *replayed}):
                yield from differing_leaves(recorded.get(key, _ABSENT), replayed.get(key, _ABSENT), f"{at}.{key}")
        case list(), list() if len(recorded) == len(replayed):
            for number, pair in enumerate(zip(recorded, replayed, strict=True)):
                yield from differing_leaves(*pair, f"{at}[{number}]")
        case _ if sorted_json(recorded) != sorted_json(replayed):
            yield at, recorded, replayed


def _by_label(scenario: str, steps: Iterable[Step]) -> dict[str, Step]:
    return {step["step"]: step for step in steps if step["scenario"] == scenario}


def _part(step: Step, keys: Iterable[str]) -> Step:
    return {key: step[key] for key in keys if key in step}


def _short(value: Any) -> str:
    return sorted_json(value)[:400]
