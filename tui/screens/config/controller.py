"""Applies an edited config: validation, question, request, result."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from textual.content import Content
from textual.widgets import TextArea

from tui.config import applying
from tui.config.applying import ChangedMeanwhile, ConfigEdit
from tui.config.changes import ConfigChange
from tui.config.draft import ConfigDraft
from tui.editor.places import TextPosition
from tui.errors import HeadraceError
from tui.formatting import one_line
from tui.model import Connector
from tui.screens.base.dialog import Dialog
from tui.screens.config import wording as words
from tui.screens.config.script_line import script_line
from tui.screens.config.validating import Validator
from tui.screens.services.cluster_services import ClusterServices


class ConfigPage(Protocol):
    """The page as the controller uses it; implemented by `pane.ConfigPane`."""

    drafts: dict[str, ConfigDraft]  # edited texts, by connector
    validator: Validator

    def hidden_in(self, one: ConfigDraft) -> frozenset[str]:
        """Keys of a draft whose values are never shown."""

    @property
    def editor(self) -> TextArea: ...

    def go_to(self, place: TextPosition) -> None: ...

    def say(self, text: str, kind: str = "info") -> None: ...

    async def ask(self, dialog: Dialog, instead: str) -> bool: ...

    def applied(self, name: str, text: Content) -> None: ...

    def refused(self, name: str, text: Content) -> None: ...


class ConfigController:
    """The controller of one page."""

    def __init__(self, services: ClusterServices, page: ConfigPage) -> None:
        self.services, self.page = services, page

    async def apply(self, one: ConfigDraft, connector: Connector) -> None:
        """Validates the edited config, asks, then sends it."""
        if not self.services.may_change("changing the config"):
            return
        validator = self.page.validator
        if not one.review().read.problems:
            validator.want(one.to_validate())
            await validator.ask()
        with suppress(HeadraceError):  # values of the plugins whose definitions are missing are hidden
            await self.services.password_keys.of(one.to_validate())
        found = one.review(validator.validation)
        if found.errors:
            first = found.errors[0]
            where = f"fix line {first.place.line} first" if first.place.line else one_line(first.message)
            self.page.go_to(first.place)
            self.page.say(f"not applied: {where}", "warn")
        elif not found.changes:
            self.page.say("nothing would change", "warn")
        elif self.services.operations.pending(one.name):
            self.services.say(f"another operation is still under way for {one.name}; o shows it", "warn", one.name)
        elif await self.page.ask(self._question(one, found.changes, connector), "the text is kept"):
            await self._send(one, one.edit(found.changes))

    def _question(self, one: ConfigDraft, made: tuple[ConfigChange, ...], connector: Connector) -> Dialog:
        where = f" on {self.services.profile.label}" if self.services.profile.production else ""
        body = words.question(made, self.page.hidden_in(one), connector.state)
        return Dialog(
            f"change the config of {one.name}{where}?", body, "apply", danger=self.services.profile.production
        )

    async def _send(self, one: ConfigDraft, edit: ConfigEdit) -> None:
        hidden, operations = self.page.hidden_in(one), self.services.operations
        self.page.editor.read_only = True
        try:
            line = script_line(edit, hidden)
            async with self.services.tracked("change config", one.name, (line,), hidden) as (operation, connect):
                done = await applying.apply(edit, connect, lambda step: operations.note(operation, step))
        except HeadraceError as error:
            self._refused(one, error)
        else:
            self.page.applied(one.name, words.applied(done, edit.changes, hidden))
        finally:
            self.page.editor.read_only = False

    def _refused(self, one: ConfigDraft, error: HeadraceError) -> None:
        """Keeps the text. If the config was changed meanwhile, the text is compared with the current config."""
        hidden = self.page.hidden_in(one)
        if isinstance(error, ChangedMeanwhile):
            hidden |= self.services.password_keys.hidden(error.now)
            self.page.drafts[one.name] = self.page.drafts[one.name].rebased(error.now, hidden)
        self.page.refused(one.name, words.refused(error, hidden))
