"""An async source that follows a file, and a connector that changes its tasks while it runs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.api import (
    STRING_SCHEMA,
    AsyncSourceTask,
    ConfigDef,
    ConfigKey,
    ConfigType,
    ConnectError,
    RecordMetadata,
    SourceConnector,
    SourceRecord,
)


class FollowTask(AsyncSourceTask):
    """Each line becomes a record with the line and the offset that is committed at this time. poll() waits for the next
    line without limit. Written records are noted in the file `<feed>.written`."""

    async def start(self, config: Mapping[str, str]) -> None:
        self._feed, self._topic = Path(config["feed"]), config["topic"]
        self._mine = config["number"] == "0"  # other tasks wait forever
        self._partition = {"feed": config["feed"]}
        offset = await self.context.offsets.offset(self._partition)
        self._next = 0 if offset is None else int(offset["line"])
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._follower = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        known = self._next
        while self._mine:
            lines = self._feed.read_text().splitlines() if self._feed.exists() else []
            for line in lines[known:]:
                self._lines.put_nowait(line)
            known = max(known, len(lines))
            await asyncio.sleep(0.02)

    async def poll(self) -> Sequence[SourceRecord]:
        line = await self._lines.get()
        committed = await self.context.offsets.offset(self._partition)
        self._next += 1
        value = json.dumps([line, committed and committed["line"]])
        return [SourceRecord(self._partition, {"line": self._next}, self._topic, value, STRING_SCHEMA)]

    async def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        assert metadata is not None
        with self._feed.with_suffix(".written").open("a") as file:
            file.write(f"{metadata.offset}\n")


class FollowConnector(SourceConnector):
    """The file `<feed>.tasks` has the number of tasks; the content of `<feed>.broken` fails the connector. Both are
    watched while the connector runs."""

    task_class = FollowTask
    config_def = ConfigDef(
        ConfigKey("feed", ConfigType.STRING, doc="A file."), ConfigKey("topic", ConfigType.STRING, doc="For the lines.")
    )

    def start(self, config: Mapping[str, str]) -> None:
        self.config, self._stopped = dict(config), threading.Event()
        self._feed = Path(config["feed"])
        threading.Thread(target=self._watch, args=(self._tasks(),), daemon=True).start()

    def _tasks(self) -> int:
        file = self._feed.with_suffix(".tasks")
        return int(file.read_text() or 1) if file.exists() else 1

    def _watch(self, tasks: int) -> None:
        broken = self._feed.with_suffix(".broken")
        while not self._stopped.wait(0.02):
            if self._tasks() != tasks:
                tasks = self._tasks()
                self.context.request_task_reconfiguration()
            if broken.exists():
                offset = self.context.offsets.offset({"feed": str(self._feed)})
                self.context.raise_error(ConnectError(f"{broken.read_text()} after {offset}"))
                return

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self.config, "number": str(number)} for number in range(min(self._tasks(), max_tasks))]

    def stop(self) -> None:
        self._stopped.set()
