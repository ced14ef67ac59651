"""Request bodies: strict parsing of JSON, and the shapes that endpoints expect.

Every function here raises BadRequest (400) with the position and reason; Apache's workers answer 500
(docs/differences.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from runtime.herder.errors import BadRequest
from runtime.model.states import TargetState

Entry = tuple["dict[str, Any] | None", "dict[str, Any] | None"]
"""Partition and offset in the format of KIP-875."""

MAX_DEPTH = 200
"""Maximum levels of nesting in a body."""

_SURROGATE = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)
"""An escaped surrogate, which is a character only together with its other half."""

_GZIP = b"\x1f\x8b"  # its first bytes

_CREATE_FIELDS = ("name", "config", "initial_state", "initial_offsets")
_INITIAL_STATES = {"STOPPED": TargetState.STOPPED, "PAUSED": TargetState.PAUSED, "RUNNING": TargetState.STARTED}


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """Body of POST /connectors. A null in `config` is kept: validation reports it."""

    name: str
    config: dict[str, str | None]
    initial_state: TargetState | None
    initial_offsets: list[Entry] | None = None  # KIP-995


class _Number(str):
    """A number in its original spelling, which config values keep."""

    __slots__ = ()


def parse(body: bytes, exact_numbers: bool = False) -> Any:
    """Parses JSON; with `exact_numbers` numbers keep their spelling. Raises BadRequest with the position."""
    if not body.strip():
        raise BadRequest("The request has no body; expected JSON")
    decimal, integer = (_spelled, _spelled) if exact_numbers else (float, int)
    try:
        text = body.decode(json.detect_encoding(body))  # strictly: json.loads() accepts encoded surrogates
        document = json.loads(
            text, parse_constant=_refuse_constant, parse_float=decimal, parse_int=integer, object_pairs_hook=_object
        )
        _check_depth(document)
        if _SURROGATE.search(body):
            json.dumps(document, ensure_ascii=False).encode()
        return document
    except UnicodeEncodeError:
        raise BadRequest("The request body has an unpaired surrogate, which is not valid text") from None
    except UnicodeDecodeError as e:
        if body.startswith(_GZIP):
            raise BadRequest("The request body is compressed by gzip; send it uncompressed") from None
        raise BadRequest(f"The request body is not {e.encoding.upper()}: {e.reason} at byte {e.start}") from None
    except json.JSONDecodeError as e:
        raise BadRequest(f"Malformed JSON in the request body: {e.msg} at line {e.lineno}, column {e.colno}") from None
    except ValueError as e:  # an integer with more digits than Python reads (sys.get_int_max_str_digits)
        raise BadRequest(f"A number in the request body is too long: {e}") from None
    except RecursionError:
        raise BadRequest("The request body is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A hook in Python, so that other threads can run while a large body is parsed."""
    return dict(pairs)


def _spelled(number: str) -> _Number:
    """A hook in Python, as _object()."""
    return _Number(number)


def _check_depth(document: Any) -> None:
    level = [document]
    for _ in range(MAX_DEPTH):
        level = [v for item in level for v in _children(item) if isinstance(v, dict | list)]
        if not level:
            return
    raise BadRequest(f"The request body is nested too deeply: more than {MAX_DEPTH} levels")


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def create_request(body: bytes, others: bool = False) -> CreateRequest:
    """The body of POST /connectors. With `others`, unknown fields are allowed."""
    d = known_object(parse(body, exact_numbers=True), "The request body", None if others else _CREATE_FIELDS)
    name = d.get("name")
    if isinstance(name, dict | list):
        raise BadRequest("'name' must be a string")
    if d.get("config") is None:
        raise BadRequest("The request has no 'config'; expected an object with the connector's configuration")
    config = config_map(d["config"], "'config'")
    return CreateRequest(_java_trim(_text(name) or ""), config, _initial(d), _initial_offsets(body, d))


def config(body: bytes) -> dict[str, str | None]:
    """The body of PUT and PATCH of a config."""
    document = parse(body, exact_numbers=True)
    if isinstance(document, dict) and isinstance(document.get("initial_offsets"), dict | list):
        raise BadRequest(
            "'initial_offsets' can only be given to POST /connectors, when a connector is created; the offsets of an "
            "existing one are altered by PATCH /connectors/{name}/offsets while it is STOPPED"
        )
    return config_map(document, "The request body")


def config_map(value: Any, what: str) -> dict[str, str | None]:
    """A connector configuration, with numbers and booleans turned into strings as in Connect."""
    for k, v in known_object(value, what).items():
        if isinstance(v, dict | list):
            raise BadRequest(f"The value of '{k}' in {what[0].lower() + what[1:]} must be a string, not {_kind(v)}")
    return {k: _text(v) for k, v in value.items()}


def offsets(body: bytes) -> list[Entry]:
    """The body of PATCH offsets (KIP-875): partitions with their offsets, None for a missing one."""
    entries = known_object(parse(body), "The request body", ("offsets",)).get("offsets")
    if entries is None or entries == []:
        raise BadRequest("Partitions / offsets need to be provided for an alter offsets request")
    return _entries(entries, "offsets")


def _initial_offsets(body: bytes, d: dict[str, Any]) -> list[Entry] | None:
    """`initial_offsets` in the format of KIP-875, parsed with real numbers; None if missing or null."""
    if d.get("initial_offsets") is None:
        return None
    if d["initial_offsets"] == []:
        raise BadRequest("'initial_offsets' is empty; leave it out, or give partitions with their offsets")
    return _entries(parse(body)["initial_offsets"], "initial_offsets")


def _entries(value: Any, what: str) -> list[Entry]:
    if not isinstance(value, list):
        raise BadRequest(f"'{what}' must be an array, not {_kind(value)}")
    return [_entry(e, f"{what}[{i}]") for i, e in enumerate(value)]


def _entry(value: Any, where: str) -> Entry:
    d = known_object(value, where, ("partition", "offset"))
    for key in ("partition", "offset"):
        if not isinstance(d.get(key), dict | None):
            raise BadRequest(f"{where}.{key} must be an object or null, not {_kind(d[key])}")
    return d.get("partition"), d.get("offset")


def _initial(d: dict[str, Any]) -> TargetState | None:
    value = d.get("initial_state")
    if value is None:
        return None
    state = _INITIAL_STATES.get(value.upper()) if isinstance(value, str) else None
    if state is None:
        raise BadRequest(f"'initial_state' is {_text(value)!r}; expected RUNNING, PAUSED or STOPPED")
    return state


def known_object(value: Any, what: str, known: Collection[str] | None = None) -> dict[str, Any]:
    """Checks for a JSON object that has only fields in `known`. `what` names the value in the error message."""
    if not isinstance(value, dict):
        raise BadRequest(f"{what} must be a JSON object, not {_kind(value)}")
    for key in value if known is not None else ():
        if key not in (known or ()):
            raise BadRequest(f"{what} has the unknown field {key!r}; known fields are {', '.join(known or ())}")
    return value


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {dict: "an object", list: "an array", bool: "a boolean", str: "a string"}
    return names.get(type(value), "a number")


def _java_trim(name: str) -> str:
    """As Java's trim(): removes all characters up to U+0020, control characters included."""
    return name.strip("".join(map(chr, range(0x21))))


def _refuse_constant(name: str) -> NoReturn:
    raise BadRequest(f"Malformed JSON in the request body: {name} is not a JSON number")
