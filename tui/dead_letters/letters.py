"""Dead letters: the record and the error headers of KIP-298."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tui.model import topics_read
from tui.topics.byte_views import plain_bytes
from tui.topics.records import TopicRecord

PREFIX = "__connect.errors."
_CAUSED = "Caused by: "
_VALUES = re.compile(r"""'[^']*'|"[^"]*"|\b0x[0-9a-f]+\b|\d+""", re.IGNORECASE)
TOPIC = "errors.deadletterqueue.topic.name"
CONTEXT = "errors.deadletterqueue.context.headers.enable"


class DeadLetter(TopicRecord):
    """A record of a dead letter topic."""

    __slots__ = ()

    @property
    def position(self) -> str:
        """Partition and offset in the dead letter topic, as commands write them."""
        return f"{self.partition}@{self.offset}"

    def error_header(self, name: str) -> str:
        """The value of the header `__connect.errors.NAME`; the last one if there are several."""
        for header, value in reversed(self.headers):
            if header == PREFIX + name:
                return "" if value is None else value.decode("utf-8", "replace")
        return ""

    @property
    def connector(self) -> str:
        """The name of the connector in which the record failed; empty if the headers do not name it."""
        return self.error_header("connector.name")

    def may_be_of(self, connector: str) -> bool:
        """Whether the record failed in this connector, or no header names one: sinks can share a dead letter topic."""
        return self.connector in ("", connector)

    @property
    def origin(self) -> tuple[str, int, int] | None:
        """Original topic, partition and offset; None if the headers do not name them."""
        topic, partition, offset = (self.error_header(name) for name in ("topic", "partition", "offset"))
        if not topic or not partition.isdecimal() or not offset.isdecimal():
            return None
        return topic, int(partition), int(offset)

    @property
    def own_timestamp(self) -> int | None:
        """The original timestamp, which a dead letter keeps; None if there was none, or if the brokers have replaced
        it."""
        return None if self.is_append_time else self.timestamp or None

    @property
    def error(self) -> str:
        """The root cause in a short form for a row: `JsonParseException: Unrecognized token 'x'`."""
        causes = [line for line in self.error_header("exception.stacktrace").split("\n") if line.startswith(_CAUSED)]
        if causes:
            name, _, message = causes[-1].removeprefix(_CAUSED).partition(": ")
        else:
            name, message = self.error_header("exception.class.name"), self.error_header("exception.message")
        return ": ".join(part for part in (name.rpartition(".")[2], message.strip()) if part)

    @property
    def kind_of_error(self) -> str:
        """The stage and the error without the values that differ between records: numbers and quoted text."""
        text = _VALUES.sub("…", self.error) or "no error headers"
        stage = self.error_header("stage")
        return f"{stage}: {text}" if stage else text

    @property
    def own_headers(self) -> list[tuple[str, bytes | None]]:
        """The headers that the record had before it failed."""
        return [(name, value) for name, value in self.headers if not name.startswith(PREFIX)]


def original_topic(config: Mapping[str, str]) -> str:
    """The original topic of letters whose headers do not name it: the sink's topic, if it reads only one."""
    named = topics_read(config)
    return named[0] if len(named) == 1 else ""


def connectors_of(letters: Iterable[DeadLetter]) -> list[str]:
    """The connectors that the headers of the letters name, sorted."""
    return sorted({letter.connector for letter in letters} - {""})


def as_json(topic: str, letter: DeadLetter) -> dict[str, Any]:
    """The dead letter with its connector, stage and error; bytes other than UTF-8 become `{"base64": …}`."""
    return {
        "topic": topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "timestamp": letter.timestamp,
        "connector": letter.connector,
        "stage": letter.error_header("stage"),
        "error": letter.error,
        "key": plain_bytes(letter.key),
        "value": plain_bytes(letter.value),
        "headers": [[name, plain_bytes(value)] for name, value in letter.headers],
    }


def exported(topic: str, letter: DeadLetter) -> str:
    """The dead letter as one line of JSON."""
    return json.dumps(as_json(topic, letter), ensure_ascii=False)
