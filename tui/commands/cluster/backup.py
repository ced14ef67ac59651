"""`backup`: the configs, states and offsets of connectors as a file for `restore`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tui import model
from tui.backup import document
from tui.backup.document import BackupDocument, SavedConnector
from tui.backup.plan import masks
from tui.client import versions
from tui.commands.arguments import flag, option, positional, positionals, regex_flag
from tui.commands.base import Command
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.result import Result, TargetOutcome
from tui.commands.targets import for_each, select_names
from tui.contexts.kafka import NO_BROKERS_ADVICE, client_properties
from tui.errors import HeadraceError, NotFound, Unsupported
from tui.formatting import counted
from tui.model import Connector, Offset
from tui.offsets.seek import in_thread
from tui.offsets.stored_offsets import OFFSET_TOPIC, Read, StoredOffsets


class Backup(Command):
    """Write configs, states and offsets of all or the given connectors to a file that only you can read.

    Secrets that are not references such as ${file:…} are in the file as the worker returns them. Offsets of workers
    before Connect 3.5 are read from the brokers of the context."""

    verb = "backup"

    file = positional("FILE|-", "the file, replaced if it exists; - is standard output")
    names = positionals("NAME", "connectors; globs are allowed", at_least=0)
    regex = regex_flag()
    partial = flag("--partial", help="write the connectors that can be read if others cannot")
    no_offsets = flag("--no-offsets", help="configs and states only")
    offset_topic = option(
        "--offset-topic",
        metavar="TOPIC",
        help=f"offset.storage.topic of workers before Connect 3.5, by default {OFFSET_TOPIC}",
        convert=str,
    )

    async def run(self, context: CommandContext) -> Result:
        existing = model.connectors(await context.cluster.connect.expanded())
        connectors: dict[str, SavedConnector] = {}
        chosen = await select_names(context.cluster.connect, self.names, self.regex) if self.names else sorted(existing)
        stored = await self._stored(context.cluster, [existing[name] for name in chosen if name in existing])

        async def read(name: str) -> TargetOutcome:
            if name not in existing:
                raise NotFound(f"Connector {name} not found", 404)
            connectors[name] = document.saved(existing[name], await self._offsets(context.cluster, name, stored))
            return TargetOutcome(name, counted(len(connectors[name].offsets or ()), "offset"))

        done = await for_each(chosen, read)
        failed = [outcome for outcome in done.outcomes if outcome.failed]
        if failed and not (self.partial and connectors):
            raise HeadraceError(
                f"nothing was written, since {counted(len(failed), 'connector')} could not be read: "
                + "; ".join(f"{outcome.name}: {outcome.message}" for outcome in failed[:3]),
                "--partial writes the others",
            )
        written = self._written(context, await self._document(context.cluster, connectors))
        return written._replace(outcomes=tuple(failed)) if failed else written

    async def _stored(self, cluster: CommandCluster, chosen: list[Connector]) -> Read | None:
        """The offsets that the brokers store, for workers that do not return them; None for others."""
        if self.no_offsets or not (reason := await cluster.connect.missing(versions.GET_OFFSETS)):
            return None
        if not (settings := client_properties(cluster.profile)):
            raise Unsupported(reason, f"--no-offsets leaves them out; the brokers have them: {NO_BROKERS_ADVICE}")
        stored = StoredOffsets(cluster.brokers(), settings, self.offset_topic or OFFSET_TOPIC)
        return await in_thread(lambda: stored.of(chosen))

    async def _offsets(self, cluster: CommandCluster, name: str, stored: Read | None) -> tuple[Offset, ...] | None:
        if self.no_offsets:
            return None
        if stored is None:
            return model.offsets(await cluster.connect.offsets(name))
        if isinstance(offsets := stored[name], HeadraceError):
            raise offsets
        return offsets

    async def _document(self, cluster: CommandCluster, connectors: dict[str, SavedConnector]) -> BackupDocument:
        root = await cluster.connect.root()
        source_cluster = {
            "url": cluster.connect.url,
            "version": str(root.get("version") or ""),
            "kafka_cluster_id": str(root.get("kafka_cluster_id") or ""),
        }
        taken = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return BackupDocument(taken, source_cluster, connectors)

    def _written(self, context: CommandContext, backup: BackupDocument) -> Result:
        """Writes to standard output or to the file."""
        offsets = sum(len(connector.offsets or ()) for connector in backup.connectors.values())
        summary = f"{counted(len(backup.connectors), 'connector')} with {counted(offsets, 'offset')}"
        for connector in backup.connectors.values():
            if hidden := masks(connector.config):
                context.terminal.report(
                    f"{connector.name}: {', '.join(hidden)} is masked by the cluster; restore with --set KEY=VALUE"
                )
        names, value = tuple(backup.connectors), document.value(backup)
        text = document.text(value)
        if self.file == "-":
            context.terminal.report(summary)
            return Result(value, text=text.rstrip("\n"), names=names)
        context.files.write(self.file, text)
        context.terminal.report(f"{summary}, written to {self.file}")
        return Result({"file": str(Path(self.file)), "connectors": len(names), "offsets": offsets}, names=names)
