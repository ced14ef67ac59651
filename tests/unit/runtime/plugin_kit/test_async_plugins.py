"""The conformance suite accepts async tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path

import pytest

from runtime.api import (
    STRING_SCHEMA,
    AsyncSinkTask,
    AsyncSourceTask,
    ConfigDef,
    ConfigKey,
    ConfigType,
    SinkConnector,
    SinkRecord,
    SourceConnector,
    SourceRecord,
    TopicPartition,
)
from runtime.plugin_kit import Case, Result, SinkCase, SourceCase, checks


class NumbersTask(AsyncSourceTask):
    async def start(self, config: Mapping[str, str]) -> None:
        offset = await self.context.offsets.offset({"p": 1})
        self._next = 0 if offset is None else int(offset["n"])
        self._topic = config["topic"]

    async def poll(self) -> Sequence[SourceRecord]:
        if self._next >= 500:
            await asyncio.sleep(3600)
        start, self._next = self._next, self._next + 50
        return [
            SourceRecord({"p": 1}, {"n": n + 1}, self._topic, str(n), STRING_SCHEMA) for n in range(start, self._next)
        ]


class AsyncNumbers(SourceConnector):
    task_class = NumbersTask
    config_def = ConfigDef(ConfigKey("topic", ConfigType.STRING, doc="Topic for the numbers."))


class LinesTask(AsyncSinkTask):
    _file: TextIOWrapper | None = None

    async def start(self, config: Mapping[str, str]) -> None:
        self._file = Path(config["file"]).open("a")  # noqa: ASYNC230, SIM115 - a small local file, open until stop()

    async def put(self, records: Sequence[SinkRecord]) -> None:
        await asyncio.sleep(0)
        assert self._file is not None
        self._file.writelines(f"{record.value}\n" for record in records)

    async def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        assert self._file is not None
        self._file.flush()

    async def stop(self) -> None:
        if self._file is not None:
            self._file.close()


class AsyncLines(SinkConnector):
    task_class = LinesTask
    config_def = ConfigDef(ConfigKey("file", ConfigType.STRING, doc="File for the lines."))


CASES: list[Case] = [
    SourceCase(connector=AsyncNumbers, config={"topic": "numbers"}),
    SinkCase(
        connector=AsyncLines,
        config={"file": "{folder}/out", "topics": "t"},
        value=str,
        schema=STRING_SCHEMA,
        written=lambda config: map(int, Path(config["file"]).read_text().split()),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_async_tasks_conform(case: Case) -> None:
    """Their lives, records, offsets, stops while poll() waits, and what they leave behind."""
    outcomes = {check.name: check.run() for check in checks([case]) if check.name != "kill"}
    assert not [outcome for outcome in outcomes.values() if outcome.result is Result.FAILED]
    assert outcomes["lifecycle"].result is outcomes["leaks"].result is Result.OK
