"""Rules in config.toml, each a table of `[[rules]]`: see docs/watch.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from tui.errors import HeadraceError, UsageError
from tui.formatting import did_you_mean
from tui.watch.conditions import Condition, condition

WARNING, CRITICAL = "warning", "critical"
SEVERITIES = (WARNING, CRITICAL)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


class Rule(NamedTuple):
    """A condition that some connectors should never meet for longer than `lasting` seconds."""

    when: Condition
    severity: str = CRITICAL
    name: str = ""
    connectors: tuple[str, ...] = ()  # globs; empty: all
    contexts: tuple[str, ...] = ()  # globs; empty: all
    lasting: float = 0.0
    bell: bool = True
    desktop: bool = True
    command: str = ""
    webhook: str = ""  # a secret, or a reference to one

    @property
    def title(self) -> str:
        """The rule's name, or else its condition."""
        return self.name or self.when.text

    def covers(self, connector: str) -> bool:
        """Whether the rule is about this connector."""
        return not self.connectors or any(fnmatchcase(connector, glob) for glob in self.connectors)

    def applies_to(self, context: str) -> bool:
        """Whether the rule is about the cluster of this context."""
        return not self.contexts or any(fnmatchcase(context, glob) for glob in self.contexts)

    def __repr__(self) -> str:
        return f"Rule({self.title!r}, {self.severity})"  # without the webhook's address


_TEXTS = ("name", "when", "severity", "command", "webhook", "for")
_LISTS = ("connectors", "contexts")
_FLAGS = ("bell", "desktop")
_KEYS = (*_TEXTS, *_LISTS, *_FLAGS)


def rules_of(tables: Iterable[Any], context: str) -> tuple[list[Rule], list[str]]:
    """The valid rules about the cluster of this context, and a problem for each invalid table."""
    rules, problems = [], []
    for number, table in enumerate(tables, 1):
        try:
            rule = _rule(table)
        except UsageError as error:
            problems.append(f"rule {number}: {error}")
        else:
            if rule.applies_to(context):
                rules.append(rule)
    return rules, problems


def load_rules(folder: Path, context: str) -> list[Rule]:
    """The rules of config.toml about the cluster of this context. Raises HeadraceError for an invalid file."""
    from tui.appearance import settings

    mine, unreadable = settings.load(folder)
    if unreadable and not mine.rules:  # perhaps its rules could not be read
        raise HeadraceError(unreadable[0])
    rules, problems = rules_of(mine.rules, context)
    if problems:
        raise HeadraceError(f"{folder / settings.FILE}: {problems[0]}")
    return rules


def _rule(table: Any) -> Rule:
    if not isinstance(table, Mapping):
        raise UsageError("expected a table: [[rules]]")
    for key, value in table.items():
        if key not in _KEYS:
            raise UsageError(f"unknown key {key!r}", did_you_mean(key, _KEYS) or f"expected {', '.join(_KEYS)}")
        if key in _TEXTS and not isinstance(value, str):
            raise UsageError(f"{key} must be text")
        if key in _FLAGS and not isinstance(value, bool):
            raise UsageError(f"{key} must be true or false")
    if "when" not in table:
        raise UsageError('when is missing, for example when = "failed"')
    severity = str(table.get("severity", CRITICAL)).lower()
    if severity not in SEVERITIES:
        raise UsageError(f"severity must be warning or critical, not {severity!r}")
    return Rule(
        condition(table["when"]), severity, table.get("name", ""),
        _names(table, "connectors"), _names(table, "contexts"), _seconds(table.get("for", "0s")),
        table.get("bell", True), table.get("desktop", True), table.get("command", ""), table.get("webhook", ""),
    )  # fmt: skip


def _names(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, ())
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise UsageError(f"{key} must be a string or a list of strings")
    return names


def _seconds(text: str) -> float:
    for unit, factor in _UNITS.items():
        number = text.removesuffix(unit)
        if number != text and number.strip().replace(".", "", 1).isdecimal():
            return float(number) * factor
    raise UsageError(f"for = {text!r} is not a duration: expected a value such as 30s or 5m")
