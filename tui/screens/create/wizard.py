"""The wizard for a new connector: a row for each key, required keys first, validated by the worker while typing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from tui.config.definitions import KeyDefinition, passwords
from tui.config.new_connector import NewConnector
from tui.config.secrets import MASK, hides
from tui.editor.kept_texts import NEW_CONNECTOR
from tui.errors import HeadraceError, error_line
from tui.formatting import counted, one_line
from tui.screens.base.navigation import ConnectorCreated
from tui.screens.base.page import Page
from tui.screens.config import wording as words
from tui.screens.config.validating import Validator
from tui.screens.create.review import ReviewScreen
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.pager import Pager
from tui.widgets.prompt import Prompt
from tui.widgets.text import visible

VALIDATE_DELAY = 0.3  # seconds after the last key
COLUMNS = (
    Column("key", "KEY", 24, grows=True, shrinks=True),
    Column("value", "VALUE", 18, grows=True),
    Column("message", "", 20, rank=1, grows=True),
)


WIDEST = {"key": 46, "value": 60, "message": 90}  # cells of the columns


class CreateScreen(Page):
    """Enter edits the value of a key; errors reported by the worker are shown beside it."""

    DEFAULT_CSS = """
    CreateScreen #fields { height: 1fr; }
    CreateScreen #explanation { height: auto; max-height: 9; min-height: 4; border-top: solid $border; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "edit value", key_display="⏎"),
        Binding("space", "next_choice", "next value", tooltip="the next recommended value"),
        Binding("a", "all", "all keys"),
        Binding("x,delete", "clear", "clear", tooltip="remove the value: the default applies"),
        Binding(
            "plus",
            "add",
            "another key",
            key_display="+",
            tooltip="a key that is not listed, for example transforms.a.type",
        ),
        Binding("n", "next_error", "next error", show=False),
        Binding("ctrl+s,f2", "review", "review", key_display="^s"),
    ]

    def __init__(self, services: ClusterServices, plugin: str) -> None:
        super().__init__(services)
        if plugin not in services.new_connectors:
            left = services.text_left_behind(NEW_CONNECTOR, plugin)
            services.new_connectors[plugin] = NewConnector(plugin, dict(left.fields) if left is not None else {})
        self.new = services.new_connectors[plugin]
        self.keys: Mapping[str, KeyDefinition] = {}
        self.shows_all = False
        self.created = False
        self.validator = Validator(lambda: self.services.connect, self.validated)
        self._editing = ""
        self._before = ""

    def body(self) -> ComposeResult:
        yield Grid(COLUMNS, id="fields")
        yield Pager(id="explanation")

    def on_mount(self) -> None:
        self.query_one("#fields").focus()
        self.draw()
        self.check(0.0)

    # Validation

    def check(self, after: float = VALIDATE_DELAY) -> None:
        config = self.new.to_validate()
        if self.validator.want(config):
            self.set_timer(after or 0.01, lambda: self._ask(config))

    def _ask(self, config: Mapping[str, str]) -> None:
        if config == self.new.to_validate():
            self.run_worker(self.validator.ask(), exit_on_error=False)

    def validated(self) -> None:
        if self.is_mounted:
            if self.validator.validation is not None and self.validator.validation.keys:
                self.keys = self.validator.validation.keys
            self.draw()

    @property
    def errors(self) -> dict[str, tuple[str, ...]]:
        return self.new.errors(self.validator.validation, self.services.names)

    # Display

    def draw(self) -> None:
        errors = self.errors
        rows = self.new.rows(self.keys, self.shows_all)
        shown = [self._cells(key, errors.get(key, ())) for key in rows]
        wide = {key: min(most, max(len(cells[key].text) for cells in shown)) for key, most in WIDEST.items()}
        self.query_one("#fields", Grid).show(rows, lambda key: self._cells(key, errors.get(key, ())), wide)
        text = self.validator.trouble or (f"{counted(len(errors), 'key')} to fix" if errors else "✓ valid")
        end = text if self.validator.settled else "… validating"
        short = self.new.plugin.rpartition(".")[2]
        self.head(("create a connector", "bold $accent"), f"  {visible(short)}", end=visible(end))
        self._about()

    def _cells(self, name: str, errors: tuple[str, ...]) -> Mapping[str, Cell]:
        key, value = self.keys.get(name), self.new.values.get(name, "")
        mark = "✗ " if errors else "  "
        shown = Cell(MASK if self._is_secret(name) else value, "grid--strong")
        if not value:
            shown = Cell(f"({key.default})" if key and key.default else "", "grid--muted")
        message = one_line(errors[0]) if errors else self._note(key, value)
        style = "grid--error" if errors else "grid--strong" if key and key.required else ""
        return {"key": Cell(mark + name, style), "value": shown, "message": Cell(message, "grid--error")}

    def _note(self, key: KeyDefinition | None, value: str) -> str:
        """A worker that accepts the config does not need a key that its definition requires: another key, such as
        http.manifest, can stand for it."""
        validation = self.validator.validation
        is_accepted = validation is not None and self.validator.settled and not validation.errors
        return "required" if key and key.required and not value and not is_accepted else ""

    def _is_secret(self, name: str) -> bool:
        return hides(name, self.new.values.get(name, ""), passwords(self.keys))

    def _about(self) -> None:
        name = self.query_one("#fields", Grid).current
        if name is None:
            return
        errors = [Content.assemble((f"✗ {visible(text)}\n", "$error")) for text in self.errors.get(name, ())]
        key = self.keys.get(name)
        doc = words.documentation(name, key) if key or self.keys else words.nothing()
        self.query_one("#explanation", Pager).put(Content.assemble(*errors, doc), top=True)

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
        self._about()
        self.refresh_bindings()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.action_edit()

    # Giving values

    def allows(self, action: str) -> bool:
        return action != "next_choice" or bool(self._choices(self.query_one("#fields", Grid).current))

    def _choices(self, name: str | None) -> tuple[str, ...]:
        key = self.keys.get(name or "")
        return key.choices if key else ()

    def action_edit(self) -> None:
        name = self.query_one("#fields", Grid).current
        if name is not None:
            self._open(name)

    def _open(self, name: str) -> None:
        self._editing, self._before = name, self.new.values.get(name, "")
        choices = self._choices(name)
        self.open_prompt(
            "=",
            "" if self._is_secret(name) else self._before,
            lambda text: [choice for choice in choices if choice.startswith(text)],
        )
        values = f"  values: {', '.join(choices[:12])}" if choices else ""
        self.report(f"{name}{values}")

    def action_next_choice(self) -> None:
        name = self.query_one("#fields", Grid).current
        if name is not None and (choices := self._choices(name)):
            key = self.keys[name]
            now = self.new.values.get(name) or key.default or ""
            self._give(name, choices[(choices.index(now) + 1) % len(choices)] if now in choices else choices[0])

    def action_clear(self) -> None:
        if (name := self.query_one("#fields", Grid).current) is not None:
            self._give(name, "")

    def action_add(self) -> None:
        self._editing = "+"
        self.open_prompt("+", "", lambda text: [key for key in self.keys if key.startswith(text)])
        self.report("a key, or key=value")

    def _give(self, name: str, value: str) -> None:
        if value:
            self.new.values[name] = value
        else:
            self.new.values.pop(name, None)
        self._keep()
        self.check()
        self.draw()

    def _keep(self) -> None:
        """Keeps the values on disk, without secrets, which are known as soon as the worker has named the keys."""
        if self.keys:
            values = {key: value for key, value in self.new.values.items() if not self._is_secret(key)}
            self.services.keep_text(NEW_CONNECTOR, self.new.plugin, values if len(values) > 1 else None)

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Validates while a value is typed."""
        if event.sign == "=" and self._editing:
            self._give(self._editing, event.text)

    def submitted(self, sign: str, text: str) -> None:
        if sign == "+":
            self._added(text)
        else:
            kept = self._before if not text and hides(self._editing, self._before, passwords(self.keys)) else ""
            self._give(self._editing, text or kept)
            self._done()

    def _added(self, text: str) -> None:
        """Adds `key=value`; for a key alone, opens the prompt for its value."""
        name, sign, value = (part.strip() for part in text.partition("="))
        self._done()
        if not name:
            return
        if sign:
            self._give(name, value)
            self.query_one("#fields", Grid).go(name)
        else:
            self._open(name)

    def on_prompt_left(self, event: Prompt.Left) -> None:
        if event.sign:
            if event.sign == "=":
                self._give(self._editing, self._before)
            self._done()

    def _done(self) -> None:
        self._editing = ""
        self.report("")
        self.set_focus(self.query_one("#fields"))
        self.refresh_bindings()

    def action_all(self) -> None:
        self.shows_all = not self.shows_all
        self.draw()

    def action_next_error(self) -> None:
        """Moves to the next key with an error."""
        grid, errors = self.query_one("#fields", Grid), self.errors
        at = grid.keys.index(grid.current) if grid.current in grid.keys else -1
        order = [*grid.keys[at + 1 :], *grid.keys[: at + 1]]
        if (name := next((key for key in order if key in errors), None)) is not None:
            grid.go(name)

    # Review

    def action_review(self) -> None:
        self.run_worker(self._review(), exit_on_error=False)

    async def _review(self) -> None:
        try:
            self.validator.want(self.new.to_validate())
            await self.validator.ask()
        except HeadraceError as error:
            self.report(error_line(error), "bad")
        if self.errors:
            grid = self.query_one("#fields", Grid)
            if grid.current not in self.errors:
                self.action_next_error()
            at = grid.current if grid.current in self.errors else next(iter(self.errors))
            self.report(f"fix {at} first", "warn")
            return
        name = await self.app.push_screen_wait(ReviewScreen(self.services, self.new, passwords(self.keys)))
        if name:
            self.services.new_connectors.pop(self.new.plugin, None)
            self.services.keep_text(NEW_CONNECTOR, self.new.plugin, None)
            self.created = True
            self.dismiss(None)
            self.app.post_message(ConnectorCreated(name))
        else:
            self.check(0.0)
            self.draw()
