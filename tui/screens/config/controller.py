"""Applies an edited config: validation, question, request, result."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from shlex import quote
from typing import Protocol

from textual.content import Content

from tui.config import applying
from tui.config.applying import ChangedMeanwhile, ConfigEdit
from tui.config.changes import ConfigChange
from tui.config.draft import ConfigDraft
from tui.config.secrets import MASK, hides
from tui.editor.places import TextPosition
from tui.errors import HeadraceError
from tui.formatting import one_line
from tui.model import Connector
from tui.screens.base.dialog import Dialog
from tui.screens.config import wording as words
from tui.screens.config.validating import Validator
from tui.screens.services.cluster_services import ClusterServices


def script_line(edit: ConfigEdit, passwords: Collection[str] = ()) -> str:
    """`patch connector NAME -s k=v -r k`; secrets are masked and have to be filled in."""
    words = ["patch", "connector", quote(edit.name)]
    for change in edit.changes:
        if change.after is None:
            words += ["-r", quote(change.key)]
        else:
            value = MASK if hides(change.key, change.after, passwords) else change.after
            words += ["-s", quote(f"{change.key}={value}")]
    return " ".join(words)


class ConfigPage(Protocol):
    """The page as the controller uses it; implemented by `pane.ConfigPane`."""

    drafts: dict[str, ConfigDraft]  # edited texts, by connector
    validator: Validator

    def hidden_in(self, draft: ConfigDraft) -> frozenset[str]:
        """Keys of a draft whose values are never shown."""

    def go_to(self, place: TextPosition) -> None: ...

    def report(self, text: str, kind: str = "info") -> None: ...

    async def ask(self, dialog: Dialog, instead: str) -> bool: ...

    def applying(self, name: str) -> None: ...

    def applied(self, name: str, text: Content) -> None: ...

    def refused(self, name: str, text: Content) -> None: ...


class ConfigController:
    """The controller of one page."""

    def __init__(self, services: ClusterServices, page: ConfigPage) -> None:
        self.services, self.page = services, page

    async def apply(self, draft: ConfigDraft, connector: Connector) -> None:
        """Validates the edited config, asks, then sends it."""
        if not self.services.may_change("changing the config"):
            return
        if draft.name not in self.services.snapshot.connectors:
            self.page.report(f"not sent: {draft.name} was deleted; the text is kept", "warn")
            return
        validator = self.page.validator
        if not draft.review().read.problems:
            validator.retry()
            validator.want(draft.to_validate())
            await validator.ask()
        with suppress(HeadraceError):  # values of the plugins whose definitions are missing are hidden
            await self.services.password_keys.of(draft.to_validate())
        review = draft.review(validator.validation)
        if review.errors:
            first = review.errors[0]
            where = f"fix line {first.place.line} first" if first.place.line else one_line(first.message)
            self.page.go_to(first.place)
            self.page.report(f"not applied: {where}", "warn")
        elif not review.changes:
            self.page.report("nothing would change", "warn")
        elif self.services.operations.pending(draft.name):
            self.services.report(
                f"another operation is still under way for {draft.name}; o shows it", "warn", draft.name
            )
        elif await self.page.ask(self._question(draft, review.changes, connector), "the text is kept"):
            await self._send(draft, draft.edit(review.changes))

    def _question(self, draft: ConfigDraft, changes: tuple[ConfigChange, ...], connector: Connector) -> Dialog:
        where = f" on {self.services.profile.label}" if self.services.profile.production else ""
        body = words.question(changes, self.page.hidden_in(draft), connector.state)
        return Dialog(
            f"change the config of {draft.name}{where}?", body, "apply", danger=self.services.profile.production
        )

    async def _send(self, draft: ConfigDraft, edit: ConfigEdit) -> None:
        hidden, operations = self.page.hidden_in(draft), self.services.operations
        self.page.applying(draft.name)
        try:
            line = script_line(edit, hidden)
            async with self.services.tracked("change config", draft.name, (line,), hidden) as (operation, connect):
                done = await applying.apply(edit, connect, lambda step: operations.note(operation, step))
                seen = self.services.snapshot.connectors.get(draft.name)
                operation.goal = "RUNNING" if seen is not None and seen.state == "RUNNING" else ""
        except HeadraceError as error:
            self._refused(draft, error)
        else:
            self.page.applied(draft.name, words.applied(done, edit.changes, hidden))

    def _refused(self, draft: ConfigDraft, error: HeadraceError) -> None:
        """Keeps the text. If the config was changed meanwhile, the text is compared with the current config."""
        hidden = self.page.hidden_in(draft)
        if isinstance(error, ChangedMeanwhile):
            hidden |= self.services.password_keys.hidden(error.now)
            self.page.drafts[draft.name] = self.page.drafts[draft.name].rebased(error.now, hidden)
        self.page.refused(draft.name, words.refused(error, hidden))
