"""The filter: terms such as `state:failed type:sink class:file name` must all match; `-` before a term negates it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tui.model import Connector

FIELDS: dict[str, Callable[[Connector], str]] = {
    "state": lambda connector: connector.overall,
    "type": lambda connector: connector.type,
    "class": lambda connector: connector.cls,
    "worker": lambda connector: " ".join({connector.worker, *(task.worker for task in connector.tasks)}),
    "name": lambda connector: connector.name,
}


def matcher(text: str) -> Callable[[Connector], bool]:
    """A test whether a connector passes the filter. Values match as substrings, case-insensitively."""
    terms = [_term(word) for word in text.lower().split()]
    return lambda connector: all(term(connector) for term in terms)


def complete(text: str, connectors: Iterable[Connector]) -> list[str]:
    """Complete filters that start with `text`: field names, then values that occur in the connectors."""
    head, _, last = text.rpartition(" ")
    sign = "-" if last.startswith("-") else ""
    field, colon, _ = last.removeprefix("-").partition(":")
    if colon and field in FIELDS:
        words = {word for connector in connectors for word in FIELDS[field](connector).split()}
        words_of_field = [
            f"{sign}{field}:{word.lower() if field == 'state' else word}" for word in sorted(words) if word
        ]
    else:
        words_of_field = [f"{sign}{name}:" for name in FIELDS]
    lines = [f"{head} {word}".lstrip() for word in words_of_field]
    return [line for line in lines if line.lower().startswith(text.lower()) and line != text]


def _term(word: str) -> Callable[[Connector], bool]:
    wanted = not (word.startswith("-") and len(word) > 1)
    field, colon, value = word.removeprefix("-" if not wanted else "").partition(":")
    if not colon or field not in FIELDS:
        field, value = "name", word.removeprefix("-" if not wanted else "")
    read = FIELDS[field]
    return lambda connector: (value in read(connector).lower()) is wanted
