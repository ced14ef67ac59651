"""The user's own commands, each under a letter of a menu: `[[commands]]` in `config.toml`.

[[commands]]
key = "g"
name = "Grafana"
run = "xdg-open https://grafana.example/d/connect?var-connector={name}"
terminal = false           # true: the console is suspended while the command runs
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

PLACES = ("name", "url", "context", "topic", "class", "worker", "trace")
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "fish")


class OwnCommand(NamedTuple):
    """`words` are the program and its arguments, in which `{name}` and others of PLACES are replaced."""

    key: str
    name: str
    words: tuple[str, ...]
    terminal: bool = False

    def filled(self, values: Mapping[str, str]) -> list[str]:
        """The program and its arguments for a connector. No shell interprets the values."""
        return [_filled(word, values) for word in self.words]


def variables(values: Mapping[str, str]) -> dict[str, str]:
    """The same values as environment variables: HEADRACE_NAME and so on."""
    return {f"HEADRACE_{name.upper()}": value for name, value in values.items()}


def parse(tables: Iterable[Any]) -> tuple[list[OwnCommand], list[str]]:
    """The valid commands, and a problem for each invalid one."""
    commands: dict[str, OwnCommand] = {}
    problems = []
    for table in tables:
        try:
            command = _command(table)
            if command.key in commands:
                raise ValueError(f"key {command.key!r} is used twice")
            commands[command.key] = command
        except ValueError as error:
            problems.append(f"[[commands]]: {error}")
    return list(commands.values()), problems


def _command(table: Any) -> OwnCommand:
    if not isinstance(table, dict) or not all(isinstance(table.get(part), str) for part in ("key", "run")):
        raise ValueError('expected key and run, for example key = "g" and run = "grafana {name}"')
    key, name = table["key"], table.get("name", table["run"])
    if len(key) != 1 or not key.isalnum():
        raise ValueError(f"key must be a letter or a digit, not {key!r}")
    if unknown := table.keys() - {"key", "name", "run", "terminal"}:
        raise ValueError(f"unknown {', '.join(sorted(unknown))}")
    try:
        words = tuple(shlex.split(table["run"]))
    except ValueError as error:
        raise ValueError(f"run of {key!r}: {error}") from None
    if not words:
        raise ValueError(f"run of {key!r} is empty")
    if PurePath(words[0]).name in _SHELLS and any(f"{{{place}}}" in word for word in words for place in PLACES):
        raise ValueError(f"run of {key!r}: a shell would interpret the values; use $HEADRACE_NAME instead of {{name}}")
    return OwnCommand(key, str(name), words, table.get("terminal") is True)


def _filled(word: str, values: Mapping[str, str]) -> str:
    """One pass, so that a value that contains `{url}` stays as it is."""
    parts = word.split("{")
    filled = [parts[0]]
    for part in parts[1:]:
        place, brace, rest = part.partition("}")
        filled.append(f"{values[place]}{rest}" if brace and place in values else f"{{{part}")
    return "".join(filled)
