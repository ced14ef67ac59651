"""What the config page has to do with the cluster: an edited config, validated, asked about and sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.config import applying
from tui.config.applying import ChangedMeanwhile, ConfigEdit
from tui.config.changes import ConfigChange
from tui.config.draft import ConfigDraft
from tui.errors import HeadraceError
from tui.formatting import one_line
from tui.model import Connector
from tui.screens.base.cluster_services import Desk
from tui.screens.base.dialog import Dialog
from tui.screens.config import wording as words
from tui.screens.config.script_line import script_line

if TYPE_CHECKING:
    from tui.screens.config.pane import ConfigPane


class Dealings:
    """Of one page."""

    def __init__(self, desk: Desk, pane: ConfigPane) -> None:
        self.desk, self.pane = desk, pane

    async def apply(self, one: ConfigDraft, connector: Connector) -> None:
        """Validated first, then asked about, then sent."""
        if not self.desk.may_change("changing the config"):
            return
        validator = self.pane.validator
        if not one.review().read.problems:
            validator.want(one.to_validate())
            await validator.ask()
        found = one.review(validator.validation)
        if found.errors:
            first = found.errors[0]
            where = f"mend line {first.place.line} first" if first.place.line else one_line(first.message)
            self.pane.go_to(first.place)
            self.pane.say(f"not applied: {where}", "warn")
        elif not found.changes:
            self.pane.say("nothing would change", "warn")
        elif self.desk.operations.pending(one.name):
            self.desk.say(f"something is still under way for {one.name}; o shows it", "warn", one.name)
        elif await self.desk.ask(self._question(one, found.changes, connector), "the text is kept"):
            await self._send(one, one.edit(found.changes))

    def _question(self, one: ConfigDraft, made: tuple[ConfigChange, ...], connector: Connector) -> Dialog:
        where = f" on {self.desk.profile.label}" if self.desk.profile.production else ""
        body = words.question(made, self.pane.hidden, connector.state)
        return Dialog(f"change the config of {one.name}{where}?", body, "apply", danger=self.desk.profile.production)

    async def _send(self, one: ConfigDraft, edit: ConfigEdit) -> None:
        hidden, operations = self.pane.hidden, self.desk.operations
        self.pane.editor.read_only = True
        try:
            line = script_line(edit, hidden)
            async with self.desk.tracked("change config", one.name, (line,), hidden) as (operation, connect):
                done = await applying.apply(edit, connect, lambda step: operations.note(operation, step))
        except HeadraceError as error:
            self._refused(one, error)
        else:
            self.pane.applied(one.name, words.applied(done, edit.changes))
        finally:
            self.pane.editor.read_only = False

    def _refused(self, one: ConfigDraft, error: HeadraceError) -> None:
        """The text stays; where somebody else was quicker, it is compared with what is there now."""
        if isinstance(error, ChangedMeanwhile):
            self.pane.drafts[one.name] = self.pane.drafts[one.name].rebased(error.now)
        self.pane.refused(one.name, words.refused(error, self.pane.hidden))
