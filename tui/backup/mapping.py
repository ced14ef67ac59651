"""Other names for the connectors and topics of a backup, and other values in their configs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tui.backup.document import SavedConnector
from tui.errors import UsageError
from tui.model import Offset

_LISTS = ("topics",)
_TOPICS = ("topic", "kafka.topic", "errors.deadletterqueue.topic.name", "offsets.storage.topic")


class NameRule(NamedTuple):
    """`OLD=NEW`: a name and its replacement. A `*` in both stands for the same text."""

    old: str
    new: str

    def applied(self, name: str) -> str | None:
        """The new name; None if the rule does not concern this one."""
        if "*" not in self.old:
            return self.new if name == self.old else None
        before, _, behind = self.old.partition("*")
        inside = name[len(before) : len(name) - len(behind)]
        if len(name) < len(before) + len(behind) or not name.startswith(before) or not name.endswith(behind):
            return None
        return self.new.replace("*", inside)


class RestoreMapping(NamedTuple):
    """How connectors are changed when they are restored."""

    names: tuple[NameRule, ...] = ()
    topics: tuple[NameRule, ...] = ()
    values: Mapping[str, str] = {}

    def applied(self, connector: SavedConnector) -> SavedConnector:
        """The connector under its new name, with its topics and values replaced."""
        name = _renamed(connector.name, self.names)
        config = {key: self._value(key, value) for key, value in connector.config.items()}
        config |= self.values
        offsets = None if connector.offsets is None else tuple(map(self._offset, connector.offsets))
        return connector._replace(name=name, config={**config, "name": name}, offsets=offsets)

    def _value(self, key: str, value: str) -> str:
        if key in _LISTS:
            return ",".join(_renamed(topic.strip(), self.topics) for topic in value.split(","))
        return _renamed(value, self.topics) if key in _TOPICS else value

    def _offset(self, entry: Offset) -> Offset:
        if not entry.is_sink:
            return entry
        topic = _renamed(entry.partition["kafka_topic"], self.topics)
        return entry._replace(partition={**entry.partition, "kafka_topic": topic})


def _renamed(name: str, rules: Sequence[NameRule]) -> str:
    """The name by the first rule that concerns it."""
    for rule in rules:
        renamed = rule.applied(name)
        if renamed is not None:
            return renamed
    return name


def name_rules(option: str, texts: Sequence[str]) -> tuple[NameRule, ...]:
    """The rules of an option. UsageError names an invalid one."""
    rules = []
    for text in texts:
        old, equals, new = text.partition("=")
        if not equals or not old or not new:
            raise UsageError(f"{option} {text!r}: expected OLD=NEW")
        if old.count("*") > 1 or (old.count("*"), new.count("*")) not in ((0, 0), (1, 1)):
            raise UsageError(f"{option} {text!r}: a * must be in both names, once")
        rules.append(NameRule(old, new))
    return tuple(rules)


def settings(option: str, texts: Sequence[str]) -> dict[str, str]:
    """KEY=VALUE pairs. UsageError names an invalid one."""
    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {text!r}: expected KEY=VALUE")
        values[key] = value
    return values
