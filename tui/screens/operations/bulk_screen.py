"""A bulk operation on the screen: menu of verbs, question with all targets, results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tui.commands.base import Danger
from tui.failures import FailedUnit, groups
from tui.formatting import counted
from tui.model import Connector
from tui.screens.base import program
from tui.screens.base.dialog import Dialog
from tui.screens.base.key_menu import KeyMenu
from tui.screens.base.pop_up import PopUp
from tui.screens.operations.actions import ACTIONS, ConnectorAction
from tui.screens.operations.bulk import BulkOperation, BulkTarget
from tui.screens.operations.log import STYLES
from tui.screens.services.operations import GLYPHS
from tui.widgets import states
from tui.widgets.bars import Bar
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

INDENT = 14  # columns before the effects in the menu
COLUMNS = (
    Column("name", "NAME", 24, grows=True, middle=True),
    Column("step", "STEP", 12),
    Column("message", "LAST MESSAGE", 24, rank=1, grows=True),
)


def question(
    action: ConnectorAction, targets: Sequence[BulkTarget], look: Mapping[str, Connector], where: str
) -> Dialog:
    """Lists all targets with their states; the number of connectors concerned has to be typed."""
    meant = [target for target in targets if not target.left_out]
    count = len(meant)
    parts: list[str | tuple[str, str]] = [f"{action.effect}\n\n" if action.effect else ""]
    for target in meant:
        parts += [*_row(look.get(target.name)), "\n"]
    if left := [target for target in targets if target.left_out]:
        parts.append((f"\nleft out: {counted(len(left), 'connector')}\n", "$text-muted"))
        parts += [(f"  {visible(target.left_out)}\n", "$text-muted") for target in left]
    title = f"{action.name} {counted(count, 'connector')}{where}? type {count} to continue"
    danger = action.danger is Danger.NAME
    return Dialog(title, Content.assemble(*parts), f"{action.name} {count}", name=str(count), danger=danger)


def restart_question(units: Sequence[FailedUnit], targets: Sequence[BulkTarget], noun: str, where: str) -> Dialog:
    """Lists failed tasks and connectors by cause. The number of several ones has to be typed."""
    meant = [unit for unit, target in zip(units, targets, strict=True) if not target.left_out]
    count = len(meant)
    parts: list[str | tuple[str, str]] = []
    for group in groups(meant):
        parts.append((f"✗ {visible(group.cause)}\n", "$error"))
        parts += [f"  {visible(unit.title)}\n" for unit in group.units]
    if left := [target.left_out for target in targets if target.left_out]:
        parts.append((f"\nleft out: {len(left)}\n", "$text-muted"))
        parts += [(f"  {visible(why)}\n", "$text-muted") for why in left]
    if count == 1:
        return Dialog(f"restart {visible(meant[0].title)}{where}?", Content.assemble(*parts), "restart")
    title = f"restart {counted(count, noun)}{where}? type {count} to continue"
    return Dialog(title, Content.assemble(*parts), f"restart {count}", name=str(count))


def _row(connector: Connector | None) -> list[tuple[str, str] | str]:
    if connector is None:
        return []
    state, tasks = connector.overall, connector.tasks_text if connector.tasks else "no tasks"
    return [
        "  ",
        (states.word(state), states.style(state)),
        " " * (11 - len(state)),
        f" {visible(connector.name)}",
        (f"  {tasks}", "$text-muted"),
    ]


class BulkMenu(KeyMenu[str]):
    """The verbs for these connectors, with the same keys as for a single one."""

    WIDTH = 76
    DEFAULT_CSS = f"BulkMenu > Vertical {{ width: {WIDTH}; }}"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,b,ctrl+c", "close", "close", key_display="esc"),
        *(Binding(action.command.key, f"pick('{name}')", name, show=False) for name, action in ACTIONS.items()),
    ]

    def __init__(self, who: str) -> None:
        super().__init__()
        self.who = who

    def heading(self) -> str:
        return visible(self.who)

    def choices(self) -> list[str | tuple[str, str]]:
        lines: list[str | tuple[str, str]] = []
        for name, action in ACTIONS.items():
            effect = wrap(action.effect, self.columns - INDENT)
            lines += [
                (f"  {action.command.key}", "bold $accent"),
                f"  {name:<9}",
                (("\n" + " " * INDENT).join(effect), "$text-muted"),
                "\n",
            ]
        return lines

    def action_pick(self, name: str) -> None:
        self.dismiss(name)


class BulkScreen(PopUp[None]):
    """Results while the operation runs. Closing the screen stops nothing; the operations log shows the same results."""

    DEFAULT_CSS = """
    BulkScreen #message { height: auto; min-height: 1; max-height: 6; border-top: solid $border; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "close", key_display="esc", priority=True),
        Binding("f", "retry", "retry", tooltip="all that failed or were not sent"),
        Binding("x", "cancel", "cancel waiting"),
        Binding("y", "copy", "copy script line"),
        Binding("ctrl+c", "close", "close", show=False),
    ]

    def __init__(self, bulk: BulkOperation, start: Callable[[BulkOperation], None]) -> None:
        super().__init__()
        self.bulk, self.start = bulk, start
        self._first = ""  # the row on which the cursor was placed
        self._moved = False  # by the user, who controls the cursor from then on

    def contents(self) -> ComposeResult:
        yield Bar(id="title")
        yield Grid(COLUMNS)
        yield Static(id="message", markup=False)

    def on_mount(self) -> None:
        self.query_one(Grid).focus()
        self.draw()

    def draw(self) -> None:
        """Failures first, then targets under way."""
        if not self.query(Grid):
            return
        rows = {target.title: target for target in sorted(self.bulk.targets, key=_rank)}
        grid = self.query_one(Grid)
        self._moved = self._moved or (self._first in rows and grid.current != self._first)
        widest = max((len(name) for name in rows), default=0)
        grid.show(list(rows), lambda name: _cells(rows[name]), {"name": min(widest, 60), "message": 400})
        if rows and not self._moved:
            self._first = next(iter(rows))
            grid.go(self._first)
        retry = f"f retries {self.bulk.retryable}" if self.check_action("retry", ()) else ""
        self.query_one("#title", Bar).put(Content(visible(self.bulk.summary())), Content(retry))
        current = rows.get(grid.current or "")
        self.query_one("#message", Static).update(Content(visible(current.message) if current else ""))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "retry":
            return not self.bulk.is_open and self.bulk.retryable > 0
        return action != "cancel" or self.bulk.can_be_cancelled

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
        self.draw()

    def action_cancel(self) -> None:
        self.bulk.cancel()

    def action_retry(self) -> None:
        if bulk := self.bulk.retry():
            self.bulk, self._first, self._moved = bulk, "", False
            self.start(bulk)
            self.draw()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard("\n".join(self.bulk.lines()))
        self.query_one("#message", Static).update(Content(visible(program.of(self).copied)))


def _rank(target: BulkTarget) -> tuple[int, str]:
    return (0 if target.failed else 1 if target.is_open else 2 if not target.left_out else 3, target.title)


def _cells(target: BulkTarget) -> Mapping[str, Cell]:
    phase = target.operation.phase if target.operation is not None else None
    step = f"{GLYPHS[phase]} {target.word}" if phase else f"{'·' if target.is_open else '–'} {target.word}"
    style = STYLES.get(phase, "") if phase else "grid--warning" if target.failed else "grid--muted"
    return {
        "name": Cell(target.title, "grid--strong"),
        "step": Cell(step, style),
        "message": Cell(target.message, "grid--error" if phase and phase.is_bad else "grid--muted"),
    }
