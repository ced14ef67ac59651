"""The topics tab: topics that the connector has used since the last reset, and topics named in its config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from tui.errors import HeadraceError, Refused
from tui.formatting import one_line
from tui.model import Connector
from tui.screens.base.dialog import Dialog
from tui.screens.base.navigation import OpenRecords, OpenTopic
from tui.screens.base.pane import Note, Pane
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.services.host import GONE
from tui.topics.usage import DEAD_LETTER_ROLE, named_topics
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid

COLUMNS = (Column("topic", "TOPIC", 30, grows=True), Column("use", "USE", 24, grows=True))


class TopicsPane(Pane):
    """Uses the endpoints of KIP-558. If topic tracking is disabled, shows the worker's message."""

    FOCUS = "#topics-used"
    interval = 5.0
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v,enter", "records", "records", key_display="v", tooltip="the records of this topic"),
        Binding(
            "d", "details", "details", tooltip="consumer groups, partitions, configurations and growth of the topic"
        ),
        Binding("x", "forget", "reset", tooltip="reset the list of topics that the connector has used"),
    ]

    def __init__(self, services: ClusterServices, id: str = "topics") -> None:
        super().__init__(services, id)
        self.used: list[str] = []
        self.trouble = ""
        self.is_read = False

    def compose(self) -> ComposeResult:
        yield Grid(COLUMNS, id="topics-used", sortable=True)
        yield Note("topics-note")

    def reset(self) -> None:
        self.used, self.trouble, self.is_read = [], "", False

    def fetch(self) -> None:
        if self.connector is not None:
            self.services.do(self._read(self.connector))

    async def _read(self, connector: Connector) -> None:
        try:
            response = await self.services.connect.topics(connector.name)
            used, trouble = sorted((response.get(connector.name) or {}).get("topics") or ()), ""
        except Refused as error:
            used, trouble = [], one_line(error.message)
        except HeadraceError as error:
            used, trouble = self.used, one_line(error.message)
        if connector.name == self.name_shown:
            self.used, self.trouble, self.is_read = used, trouble, True
            self.draw()

    def draw(self) -> None:
        connector = self.connector
        if connector is None:
            return
        named = named_topics(connector.config)
        rows = sorted(self.used) + [topic for topic in named if topic not in self.used]
        cells = {topic: self._cells(topic, named.get(topic, "")) for topic in rows}
        grid = self.query_one(Grid)
        grid.empty = "no topic used yet" if self.is_read else "reading…"
        grid.show(rows, lambda key: cells.get(key, {}), {"topic": max(map(len, rows), default=0), "use": 30})
        words = [f"topics.regex: {connector.config['topics.regex']}"] if connector.config.get("topics.regex") else []
        self.query_one(Note).report(self.trouble or "  ".join(words), "$warning" if self.trouble else "$text-muted")

    def _cells(self, topic: str, role: str) -> Mapping[str, Cell]:
        words = [role] if role else []
        if not (topic in self.used or self.is_gone or self.trouble or role == DEAD_LETTER_ROLE) and self.is_read:
            words.append("not used yet")
        return {"topic": Cell(topic, "grid--strong"), "use": Cell(", ".join(words), "grid--muted")}

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.post_message(OpenRecords(event.key, self.name_shown))

    def action_records(self) -> None:
        if (topic := self.query_one(Grid).current) is not None:
            self.post_message(OpenRecords(topic, self.name_shown))

    def action_details(self) -> None:
        if (topic := self.query_one(Grid).current) is not None:
            self.post_message(OpenTopic(topic))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "forget" or not self.is_gone

    def why_not(self, action: str) -> str:
        return GONE if self.is_gone else ""

    def action_forget(self) -> None:
        if self.connector is not None and self.services.may_change("resetting topics"):
            self.services.do(self._forget(self.connector.name))

    async def _forget(self, name: str) -> None:
        body = Content("Resets the worker's list of used topics. Topics and their records are not changed.")
        if await self.ask(Dialog(f"reset the used topics of {name}?", body, "reset"), "reset topics"):
            async with self.services.tracked("reset topics", name) as (_, connect):
                await connect.reset_topics(name)
            self.fetch()
