"""The last step before a connector is created: the request as JSON, initial state, initial offsets."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Label, TextArea

from tui.config import creating
from tui.config.new_connector import STATES, NewConnector, offsets_message
from tui.config.secrets import MASK, hides
from tui.contexts import policy
from tui.errors import HeadraceError
from tui.screens.base.pane import Note
from tui.screens.base.pop_up import Question
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.jsontext import JsonArea, coloured
from tui.widgets.pager import Pager
from tui.widgets.text import visible

EFFECT = {
    "RUNNING": "the connector starts at once",
    "PAUSED": "tasks are created but process no records until the connector is resumed",
    "STOPPED": "no tasks until the connector is resumed; offsets can be set before",
}
EXAMPLE = '[{"partition": {}, "offset": {}}]'


class ReviewScreen(Question[str]):
    """Returns the name of the created connector, or an empty text."""

    DEFAULT_CSS = """
    ReviewScreen.-danger > Vertical { border: round $error; }
    ReviewScreen JsonArea { display: none; height: 6; background: $surface; }
    ReviewScreen.-offsets JsonArea { display: block; }
    ReviewScreen Note { padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f2", "create", "create", key_display="y/^s", priority=True),
        Binding("y", "agree", "create", show=False),
        Binding("s", "state", "initial state"),
        Binding("o", "offsets", "initial offsets"),
        Binding("escape,ctrl+c", "back", "back to the keys", key_display="esc", priority=True),
    ]

    def __init__(self, services: ClusterServices, new: NewConnector, passwords: Collection[str]) -> None:
        super().__init__(classes="-danger" if services.profile.production else "")
        self.services, self.new, self.passwords = services, new, passwords
        self._busy = False

    def contents(self) -> ComposeResult:
        where = f" on {self.services.profile.label}" if self.services.profile.production else ""
        yield Label(Content(visible(f"create {self.new.name}{where}?")), id="title")
        yield Note("state")
        yield Pager()
        yield JsonArea(id="offsets-text")
        yield Note("trouble")

    def on_mount(self) -> None:
        self.query_one(Pager).focus()
        if self.new.offsets:
            self._open_offsets()
        self.draw()

    def draw(self) -> None:
        state = self.new.state
        text = Content.assemble("initial state ", (state, "bold"), (f"  {EFFECT[state]}", "$text-muted"))
        self.query_one("#state", Note).report(text)
        body = {**self.new.body(), "config": self._hidden()} if not self.new.offsets_trouble() else self._hidden()
        self.query_one(Pager).put(coloured(json.dumps(body, indent=2, ensure_ascii=False)))
        self.query_one("#trouble", Note).report(self.new.offsets_trouble(), "$error")

    def _hidden(self) -> dict[str, str]:
        config = {key: value for key, value in sorted(self.new.values.items()) if value != ""}
        return {key: MASK if hides(key, value, self.passwords) else value for key, value in config.items()}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.query(JsonArea):
            return False
        if action == "offsets":
            return self.services.is_ours and not self.query_one(JsonArea).has_focus
        return action not in ("state", "agree") or not self.query_one(JsonArea).has_focus

    def action_state(self) -> None:
        self.new.state = STATES[(STATES.index(self.new.state) + 1) % len(STATES)]
        self.draw()

    def action_offsets(self) -> None:
        self.new.offsets = self.new.offsets or EXAMPLE
        self._open_offsets()

    def _open_offsets(self) -> None:
        self.add_class("-offsets")
        area = self.query_one(JsonArea)
        area.load_text(self.new.offsets)
        area.focus()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.new.offsets = self.query_one(JsonArea).text
        self.draw()

    def action_back(self) -> None:
        if self.query_one(JsonArea).has_focus:
            self.query_one(Pager).focus()
            if self.new.offsets.strip() in ("", EXAMPLE):
                self.new.offsets = ""
                self.remove_class("-offsets")
            self.draw()
            self.refresh_bindings()
        elif not self._busy:
            self.dismiss("")

    def action_agree(self) -> None:
        if self.armed:
            self.action_create()

    def action_create(self) -> None:
        if self.new.offsets_trouble():
            self.query_one("#trouble", Note).report(self.new.offsets_trouble(), "$error")
        elif refusal := policy.refusal(self.services.profile, "create"):
            self.query_one("#trouble", Note).report(refusal, "$error")
        elif not self._busy:
            self._busy = True
            self.run_worker(self._create(), exit_on_error=False)

    async def _create(self) -> None:
        name = self.new.name
        self.query_one("#trouble", Note).report("… creating", "$accent")
        try:
            async with self.services.tracked("create", name, (), self.passwords) as (operation, connect):
                state = await creating.new_state(connect, self.new.state)
                response = await creating.create(connect, self.new.body(), state)
                self.services.operations.note(operation, offsets_message(response) or f"created {state}")
                operation.goal = state.state
        except HeadraceError as error:
            self.query_one("#trouble", Note).report(f"✗ {error}", "$error")
        else:
            self.dismiss(name)
        finally:
            self._busy = False
