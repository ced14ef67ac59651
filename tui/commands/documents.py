"""Connector files: JSON as POST takes it, a flat JSON config, or .properties; read into one shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.errors import UsageError


@dataclass(frozen=True, slots=True)
class Document:
    """A connector as it is wanted. `where` names the file for error lines."""

    where: str
    name: str
    config: dict[str, Any]
    initial_state: str = ""


def files_of(path: str) -> list[str]:
    """The connector files of a folder, by name; a file or `-` is itself."""
    if path == "-" or not Path(path).is_dir():
        return [path]
    found = sorted(str(file) for file in Path(path).iterdir() if file.suffix in (".json", ".properties"))
    if not found:
        raise UsageError(f"{path} has no .json and no .properties file")
    return found


def documents(text: str, where: str, name: str = "") -> list[Document]:
    """All connectors of one file; `name` is for the one that has none, or replaces its name."""
    if where.endswith(".properties") or (not text.lstrip().startswith(("{", "[")) and not where.endswith(".json")):
        found: list[Any] = [properties(text)]
    else:
        content = _json(text, where)
        found = content if isinstance(content, list) else [content]
    if name and len(found) > 1:
        raise UsageError(f"{where} has {len(found)} connectors: -n can name only one")
    return [_document(entry, where, name) for entry in found]


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"{where} is not JSON: {error}") from None


def _document(entry: Any, where: str, name: str) -> Document:
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: expected a JSON object for a connector")
    nested = isinstance(entry.get("config"), dict)
    config = dict(entry["config"] if nested else entry)
    unknown = entry.keys() - {"name", "config", "initial_state"} if nested else set()
    if unknown:
        raise UsageError(f"{where}: unknown key {sorted(unknown)[0]!r} beside name, config and initial_state")
    name = name or str(entry.get("name") or config.get("name") or "")
    if not name:
        raise UsageError(f"{where}: the connector has no name (give one with -n)")
    wrong = [key for key, value in config.items() if isinstance(value, dict | list)]
    if wrong:
        raise UsageError(f"{where}: the value of {wrong[0]!r} must be text, a number, true or false")
    return Document(where, name, {**config, "name": name}, str(entry.get("initial_state") or "") if nested else "")


def properties(text: str) -> dict[str, str]:
    """Java's properties format: `#` and `!` comments, `=`, `:` or blank between key and value, `\\` escapes."""
    found = {}
    for line in _logical_lines(text):
        end = _key_end(line)
        rest = line[end:].lstrip(" \t\f")
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(" \t\f")
        found[_unescape(line[:end])] = _unescape(rest).rstrip(" \t")
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blanks; one that ends in an odd number of backslashes goes on in the next."""
    open_line = ""
    for raw in text.splitlines():
        line = raw.lstrip(" \t\f")
        if not open_line and (not line or line[0] in "#!"):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            open_line += line[:-1]
            continue
        yield open_line + line
        open_line = ""
    if open_line:
        yield open_line


def _key_end(line: str) -> int:
    at = 0
    while at < len(line) and line[at] not in "=: \t\f":
        at += 2 if line[at] == "\\" else 1
    return min(at, len(line))


_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out, at = [], 0
    while at < len(text):
        char = text[at]
        if char != "\\" or at + 1 == len(text):
            out.append(char)
            at += 1
        elif text[at + 1] == "u" and _is_hex(text[at + 2 : at + 6]):
            out.append(chr(int(text[at + 2 : at + 6], 16)))
            at += 6
        else:
            out.append(_ESCAPES.get(text[at + 1], text[at + 1]))
            at += 2
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_hex(text: str) -> bool:
    return len(text) == 4 and all(char in "0123456789abcdefABCDEF" for char in text)
