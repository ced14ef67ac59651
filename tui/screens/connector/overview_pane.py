"""The overview tab: the snapshot, and from Headrace's worker also rates, stalls and failed records."""

from __future__ import annotations

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
from tui.screens.base import curves
from tui.screens.base.pane import Pane
from tui.screens.connector import automatic_restarts, failed_records
from tui.screens.connector.overview import overview
from tui.screens.connector.standing_warnings import standing
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.pager import Pager
from tui.widgets.plot import short
from tui.widgets.text import visible

if TYPE_CHECKING:
    from tui.client.responses import RestartsResponse

T = TypeVar("T")
LOG_LINES = 50
MAX_CURVE = 60  # cells


class OverviewPane(Pane):
    """Shows the snapshot, and reports of Headrace workers; sends no requests to other workers."""

    FOCUS = "#facts"
    interval = 5.0

    def __init__(self, services: ClusterServices, notices: Mapping[str, Sequence[str]], id: str = "overview") -> None:
        super().__init__(services, id)
        self.notices = notices
        self.remarks, self.errors, self.warning = OffsetWarnings(), Content(""), ""
        self.lag: int | None = None  # of a sink that is not running, which sends no reports
        self._is_new = True

    def compose(self) -> ComposeResult:
        yield Pager(id="facts")

    def reset(self) -> None:
        self.remarks, self.errors, self.warning, self._is_new = OffsetWarnings(), Content(""), "", True
        self.lag = None

    def fetch(self) -> None:
        if self.connector is not None and self.services.is_ours:
            self.services.do(self._read(self.connector))

    def on_resize(self) -> None:
        """Curves use the available width."""
        if self.is_open:
            self.draw()

    async def _read(self, one: Connector) -> None:
        """Parts that cannot be read are left out; the offsets tab shows the error."""
        remarks, errors, warning, behind = OffsetWarnings(), Content(""), "", None
        try:
            await self.services.read_course(one.name)
            offsets = await self.services.connect.offsets_in_detail(one.name)
            remarks = lag.warnings(offsets)
            behind = None if one.running else of_offsets(offsets).lag
            if one.type == "source" and one.running:
                warning = standing(await self._log(one.name), offsets, time.time())
            errors = Content.assemble(
                automatic_restarts.content(await self._restarts(one.name), time.time()),
                failed_records.content(await self._errors(one.name)),
            )
        except HeadraceError:
            pass
        if one.name == self.name_shown:
            self.remarks, self.errors, self.warning, self.lag = remarks, errors, warning, behind
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
        one = self.connector
        if one is not None:
            text = overview(one, self.notices.get(one.name, ()), self._pace(), self.errors)
            self.query_one(Pager).put(text, top=self._is_new)
            self._is_new = False

    def _pace(self) -> list[tuple[str, Content]]:
        now = time.time()
        course = self.services.course(self.name_shown)
        width = max(8, min(MAX_CURVE, self.size.width - 38))
        found = curves.in_lines(course, width, now, self.lag) if course is not None else []
        if course is None and self.lag is not None:
            found.append(("lag", Content(short(self.lag, "records"))))
        if found and (limit := self.services.limit(self.name_shown)):
            found.append(("", Content.styled(limit, "$text-muted")))
        texts = [*filter(None, [self.warning]), *self.remarks.lines(int(now * 1000))]
        inks = ["$error" if text.startswith("STALLED") else "$warning" for text in texts]
        return [*found, *(("!", Content.assemble((visible(text), ink))) for text, ink in zip(texts, inks, strict=True))]


async def _or_none(answer: Awaitable[T]) -> T | None:
    """The answer; None if the worker is an older Headrace version that does not have it."""
    try:
        return await answer
    except Refused as error:
        if error.status not in (404, 405):
            raise
        return None
