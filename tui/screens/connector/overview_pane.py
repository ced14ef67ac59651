"""The overview tab: the snapshot, and from Headrace's worker also rates, stalls and failed records."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from textual.app import ComposeResult
from textual.content import Content

from tui.errors import HeadraceError, Refused
from tui.metrics.progress import of_offsets
from tui.model import Connector
from tui.offsets import lag
from tui.offsets.lag import OffsetWarnings
from tui.screens.base import curves, restart_text
from tui.screens.base.pane import Pane
from tui.screens.connector import automatic_restarts, failed_records
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.services.last_restarts import KnownRestarts
from tui.widgets.pager import Pager
from tui.widgets.plot import short
from tui.widgets.text import visible
from tui.wire import audit

if TYPE_CHECKING:
    from tui.client.responses import RestartsResponse
from tui.config.secrets import shown
from tui.formatting import counted, one_line, short_time
from tui.screens.base import stack_traces
from tui.widgets import states

LEVELS = ("WARN", "WARNING", "ERROR", "FATAL")
Json = Any


def standing(lines: Sequence[Mapping[str, Json]], offsets: Json, now: float) -> str:
    """`task 0 at 12:03:04: /in.txt does not exist yet; waiting for it`; empty if the position moved after the last
    warning.

    `lines` are those of `GET logs`, oldest first; `offsets` is the response of `GET offsets?detail=true`.
    """
    ages = [entry["age_ms"] for entry in offsets.get("offsets") or () if entry.get("age_ms") is not None]
    moved_at = now * 1000 - min(ages) if ages else 0.0
    for line in reversed(lines):
        at = line.get("time") or 0
        if at <= moved_at:
            break
        if line.get("level") in LEVELS:
            task = "" if line.get("task") is None else f"task {line['task']} "
            return f"{task}at {short_time(at / 1000)}: {one_line(line.get('message') or '')}"
    return ""


Part = str | Content | tuple[str, str]
CONFIG_KEYS = (
    "topics",
    "topics.regex",
    "topic",
    "file",
    "tasks.max",
    "errors.tolerance",
    "errors.deadletterqueue.topic.name",
    "transforms",
)
Pairs = Sequence[tuple[str, Content]]
NOTHING = Content("")
MAX_TASKS = 12  # the tasks tab shows all


def overview(connector: Connector, notices: Sequence[str] = (), pace: Pairs = (), below: Content = NOTHING) -> Content:
    """`pace`: labels and texts about progress and the last restart; `below`: text after the reasons of failures."""
    parts: list[Part] = []

    def line(key: str, *value: Part) -> None:
        parts.extend([(f"{key:<16} ", "$text-muted"), *value, "\n"])

    line("connector", (states.word(connector.state), states.style(connector.state)))
    failed = [(f", {connector.failed} failed", "bold $error")] if connector.failed else []
    line("tasks", f"{connector.running} of {counted(connector.total, 'task')} running", *failed)
    line("type", visible(connector.type))
    line(
        "class", visible(connector.cls), (f"  {visible(connector.version)}" if connector.version else "", "$text-muted")
    )
    line("worker", visible(connector.worker))
    for key, value in pace:
        line(key, value)
    config = shown(connector.config)
    for key in CONFIG_KEYS:
        if key in config:
            line("dead letters" if "deadletter" in key else key, visible(config[key]))
    for task in sorted(connector.tasks, key=lambda task: (task.state != "FAILED", task.id))[:MAX_TASKS]:
        line(
            f"task {task.id}",
            (states.word(task.state), states.style(task.state)),
            (f"  {visible(task.worker)}", "$text-muted"),
        )
    if len(connector.tasks) > MAX_TASKS:
        line("", (f"and {len(connector.tasks) - MAX_TASKS} more; 2 shows all", "$text-muted"))
    for question, why in stack_traces.causes(connector):
        parts.append((f"\n{question} (t shows the full trace)\n", "bold $accent"))
        parts += [(f"{text}\n", "$error") for text in why]
    parts.append(below)
    if notices:
        parts.append(("\nnotices of the worker\n", "bold $accent"))
        parts += [f"{visible(text)}\n" for text in notices[::-1]]
    return Content.assemble(*parts)


T = TypeVar("T")
LOG_LINES = 50
MAX_CURVE = 60  # cells


class OverviewPane(Pane):
    """Shows the snapshot, the last restart, and reports of Headrace workers; sends no requests to other workers."""

    FOCUS = "#facts"
    interval = 5.0

    def __init__(self, services: ClusterServices, notices: Mapping[str, Sequence[str]], id: str = "overview") -> None:
        super().__init__(services, id)
        self.notices = notices
        self.remarks, self.errors, self.warning = OffsetWarnings(), Content(""), ""
        self.lag: int | None = None  # of a sink that is not running, which sends no reports
        self.automatic: RestartsResponse | None = None
        self.logged: list[dict[str, object]] = []  # restarts in the audit log of this machine
        self._is_new = True

    def compose(self) -> ComposeResult:
        yield Pager(id="facts")

    def reset(self) -> None:
        self.remarks, self.errors, self.warning, self._is_new = OffsetWarnings(), Content(""), "", True
        self.lag, self.automatic, self.logged = None, None, []

    def fetch(self) -> None:
        if self.connector is not None:
            self.services.do(self._read_audit_log(self.connector.name))
            if self.services.is_ours:
                self.services.do(self._read(self.connector))

    async def _read_audit_log(self, name: str) -> None:
        logged = await asyncio.to_thread(audit.restarts, self.services.profile.label, name)
        if name == self.name_shown:
            self.logged = logged
            if self.is_open:
                self.draw()  # the age of the last restart changes

    def on_resize(self) -> None:
        """Curves use the available width."""
        if self.is_open:
            self.draw()

    async def _read(self, connector: Connector) -> None:
        """Parts that cannot be read are left out; the offsets tab shows the error."""
        remarks, errors, warning, behind, automatic = OffsetWarnings(), Content(""), "", None, None
        try:
            await self.services.read_course(connector.name)
            offsets = await self.services.connect.offsets_in_detail(connector.name)
            remarks = lag.warnings(offsets)
            behind = None if connector.running else of_offsets(offsets).lag
            if connector.type == "source" and connector.running:
                warning = standing(await self._log(connector.name), offsets, time.time())
            automatic = await self._restarts(connector.name)
            errors = Content.assemble(
                automatic_restarts.content(automatic, time.time()),
                failed_records.content(await self._errors(connector.name)),
            )
        except HeadraceError:
            pass
        if connector.name == self.name_shown:
            self.remarks, self.errors, self.warning, self.lag = remarks, errors, warning, behind
            self.automatic = automatic
            if self.is_open:
                self.draw()

    async def _log(self, name: str) -> Any:
        try:
            return await self.services.connect.logs(name, LOG_LINES)
        except Refused:
            return ()

    async def _errors(self, name: str) -> Any:
        return await _or_none(self.services.connect.errors(name))

    async def _restarts(self, name: str) -> RestartsResponse | None:
        return await _or_none(self.services.connect.restarts(name))

    def draw(self) -> None:
        connector = self.connector
        if connector is not None:
            pairs = [*self._pace(), *self._last_restart(connector)]
            text = overview(connector, self.notices.get(connector.name, ()), pairs, self.errors)
            self.query_one(Pager).put(self.dimmed(text) if self.is_gone else text, top=self._is_new)
            self._is_new = False

    def _last_restart(self, connector: Connector) -> list[tuple[str, Content]]:
        """Of the connector or any of its tasks; empty if none is known."""
        known = KnownRestarts(self.services.operations.log, self.logged, self.automatic)
        last = known.last(connector.name, None, *(task.id for task in connector.tasks))
        if last is None:
            return []
        part = "" if last.task is None else f"task {last.task}"
        return [("last restart", restart_text.content(last, part, time.time()))]

    def _pace(self) -> list[tuple[str, Content]]:
        now = time.time()
        course = self.services.course(self.name_shown)
        width = max(8, min(MAX_CURVE, self.size.width - 38))
        lines = curves.in_lines(course, width, now, self.lag) if course is not None else []
        if course is None and self.lag is not None:
            lines.append(("lag", Content(short(self.lag, "records"))))
        if lines and (limit := self.services.limit(self.name_shown)):
            lines.append(("", Content.styled(limit, "$text-muted")))
        texts = [*filter(None, [self.warning]), *self.remarks.lines(int(now * 1000))]
        styles = ["$error" if text.startswith("STALLED") else "$warning" for text in texts]
        return [
            *lines,
            *(("!", Content.assemble((visible(text), style))) for text, style in zip(texts, styles, strict=True)),
        ]


async def _or_none(response: Awaitable[T]) -> T | None:
    """The response; None if the worker is an older Headrace version that does not have it."""
    try:
        return await response
    except Refused as error:
        if error.status not in (404, 405):
            raise
        return None
