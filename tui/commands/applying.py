"""apply: make connectors be as files say."""

from __future__ import annotations

from typing import Any

from tui.commands.arguments import option, options
from tui.commands.base import Change, Context, Danger, refuse
from tui.commands.documents import Document, documents, files_of
from tui.commands.result import Outcome, Result
from tui.commands.targets import each
from tui.errors import BadRequest, NotFound


class Apply(Change):
    """Create or update connectors from files: JSON as POST takes it, a flat JSON config, or .properties."""

    verb = "apply"
    danger = Danger.ASK

    files = options("-f", "--file", metavar="FILE|DIR|-", help="may be given several times")
    name = option("-n", "--name", metavar="NAME", help="the connector's name, where the file has none", convert=str)

    def check(self) -> None:
        refuse(not self.files, "apply needs -f FILE")
        refuse(self.files.count("-") > 1, "standard input can be read only once")

    async def run(self, context: Context) -> Result:
        wanted = [document for path in self.files for file in files_of(path) for document in self._read(context, file)]
        by_name = {document.name: document for document in wanted}
        refuse(len(by_name) < len(wanted), "two files describe the same connector")

        async def act(name: str) -> Outcome:
            return await (self._preview if self.dry_run else self._apply)(context, by_name[name])

        return await each(by_name, act)

    def _read(self, context: Context, file: str) -> list[Document]:
        return documents(context.read(file), "standard input" if file == "-" else file, self.name or "")

    async def _apply(self, context: Context, document: Document) -> Outcome:
        name, config = document.name, document.config
        before = await _current(context, name)
        if before is None:
            if document.initial_state:
                body = {"name": name, "config": config, "initial_state": document.initial_state}
                return Outcome(name, "created", raw=await context.connect.create(body))
            return Outcome(name, "created", raw=await context.connect.configure(name, config))
        if document.initial_state:
            context.narrate(f"{name} exists already: its initial_state is left out of account")
        if not changed_keys(before, config):
            return Outcome(name, "unchanged")
        return Outcome(name, "updated", raw=await context.connect.configure(name, config))

    async def _preview(self, context: Context, document: Document) -> Outcome:
        """Asks the worker to validate, and says what would change; an invalid config fails as it would for real."""
        before = await _current(context, document.name)
        plugin = str(document.config.get("connector.class") or "")
        refuse(not plugin, f"{document.where}: no connector.class")
        answer = await context.connect.validate(plugin.rpartition(".")[2], document.config)
        errors = [error for entry in answer.get("configs", ()) for error in entry["value"].get("errors", ())]
        if errors:
            raise BadRequest("; ".join(errors), 400)
        if before is None:
            return Outcome(document.name, "would be created")
        keys = changed_keys(before, document.config)
        return Outcome(document.name, f"would be updated: {', '.join(keys)}" if keys else "unchanged")


async def _current(context: Context, name: str) -> dict[str, str] | None:
    try:
        return await context.connect.config(name)
    except NotFound:
        return None


def changed_keys(before: dict[str, str], after: dict[str, Any]) -> list[str]:
    """Keys that differ. Connect stores text, and the name whether it was sent or not."""
    wanted = {key: _as_stored(value) for key, value in after.items()}
    there = {key: value for key, value in before.items() if key != "name" or "name" in wanted}
    return sorted(key for key in there.keys() | wanted.keys() if there.get(key) != wanted.get(key))


def _as_stored(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
