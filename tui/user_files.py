"""Files that the user names, which others may have written: read with a limit, and parsed as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import IO, Any, AnyStr

from tui.errors import UsageError

MAX_BYTES = 1 << 28  # as for a response: a backup of 10,000 connectors needs a fraction of it


def read_text(path: str, max_bytes: int = MAX_BYTES) -> str:
    """The text of a file. Raises UsageError if it cannot be read or is larger than the limit."""
    try:
        with Path(path).expanduser().open("rb") as file:
            return _text(_limited(file, path, max_bytes).decode("utf-8", "surrogateescape"), path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def read_standard_input() -> str:
    """The text of standard input. Raises UsageError if it is larger than the limit."""
    name = "standard input"
    return _text(_limited(sys.stdin, name, MAX_BYTES), name)


def _text(content: str, name: str) -> str:
    """The content without a byte order mark. Raises UsageError for UTF-16, which some editors and shells write."""
    if content.startswith(("\udcff\udcfe", "\udcfe\udcff")):
        raise UsageError(f"cannot read {name}: it is UTF-16", "convert it to UTF-8")
    return content.removeprefix("\ufeff")


def _limited(file: IO[AnyStr], name: str, most: int) -> AnyStr:
    content = file.read(most + 1)
    if len(content) > most:
        raise UsageError(f"cannot read {name}: it is larger than {most / (1 << 20):g} MiB")
    return content


def parse_json(text: str, where: str, advice: str = "", parse_float: Callable[[str], Any] | None = None) -> Any:
    """The JSON value; `where` names its source in the UsageError. Numbers that JSON does not have, and keys that occur
    twice, of which one would be lost, are errors. `parse_float` reads numbers with a fraction or an exponent."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=parse_float or _finite)
    except ValueError as error:
        raise UsageError(f"{where}: not JSON: {error}", advice) from None
    except RecursionError:
        raise UsageError(f"{where}: JSON nested too deeply", advice) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
        raise ValueError(f'the key "{twice}" occurs twice in an object')
    return members


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is not a number that JSON can represent")
    return number
