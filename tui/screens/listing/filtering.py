"""The filter: terms such as `state:failed type:sink class:file name` must all match; `-` before a term negates it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tui.model import Connector

FIELDS: dict[str, Callable[[Connector], str]] = {
    "state": lambda one: one.overall,
    "type": lambda one: one.type,
    "class": lambda one: one.cls,
    "worker": lambda one: " ".join({one.worker, *(task.worker for task in one.tasks)}),
    "name": lambda one: one.name,
}


def matcher(text: str) -> Callable[[Connector], bool]:
    """A test whether a connector passes the filter. Values match as substrings, case-insensitively."""
    terms = [_term(word) for word in text.lower().split()]
    return lambda one: all(term(one) for term in terms)


def complete(text: str, some: Iterable[Connector]) -> list[str]:
    """Complete filters that start with `text`: field names, then values that occur in the connectors."""
    head, _, last = text.rpartition(" ")
    sign = "-" if last.startswith("-") else ""
    field, colon, _ = last.removeprefix("-").partition(":")
    if colon and field in FIELDS:
        words = {word for one in some for word in FIELDS[field](one).split()}
        found = [f"{sign}{field}:{word.lower() if field == 'state' else word}" for word in sorted(words) if word]
    else:
        found = [f"{sign}{name}:" for name in FIELDS]
    lines = [f"{head} {word}".lstrip() for word in found]
    return [line for line in lines if line.lower().startswith(text.lower()) and line != text]


def _term(word: str) -> Callable[[Connector], bool]:
    wanted = not (word.startswith("-") and len(word) > 1)
    field, colon, value = word.removeprefix("-" if not wanted else "").partition(":")
    if not colon or field not in FIELDS:
        field, value = "name", word.removeprefix("-" if not wanted else "")
    read = FIELDS[field]
    return lambda one: (value in read(one).lower()) is wanted
