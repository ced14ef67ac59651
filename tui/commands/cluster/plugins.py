"""The verbs for plugins: list them, describe their config keys, and reload them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.commands.arguments import choices_in, option, optional_positional, positional
from tui.commands.base import ChangingCommand, Command
from tui.commands.context import CommandContext
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.errors import UNREACHABLE, NotFound, naming
from tui.formatting import one_line
from tui.patterns import Pattern

if TYPE_CHECKING:
    from tui.client.responses import KeyResponse

TYPES = ("all", "source", "sink", "transformation", "predicate", "converter", "header_converter")


class GetPlugins(Command):
    """List the connector plugins of a worker, or with -t plugins of other types."""

    verb = "get plugins"

    types = option(
        "-t",
        "--types",
        metavar="TYPES",
        help=f"a list of: {','.join(TYPES)}",
        convert=lambda text: choices_in(text, *TYPES),
    )

    async def run(self, context: CommandContext) -> Result:
        wanted = self.types or {"source", "sink"}
        plugins = await context.cluster.connect.plugins(connectors_only=wanted <= {"source", "sink"})
        shown = [plugin for plugin in plugins if "all" in wanted or plugin["type"] in wanted]
        rows = tuple((plugin["type"], plugin["class"], plugin.get("version")) for plugin in shown)
        return Result(shown, Table(("TYPE", "CLASS", "VERSION"), rows), names=tuple(p["class"] for p in shown))


class DescribePlugin(Command):
    """Show the config keys of a plugin, each with its type, default and documentation."""

    verb = "describe plugin"

    name = positional("PLUGIN", "class, or the last part of its name")
    search = option(
        "-s", "--search", metavar="REGEX", help="only keys whose name or documentation matches", convert=str
    )

    def check(self) -> None:
        if self.search is not None:
            Pattern(self.search)

    async def run(self, context: CommandContext) -> Result:
        with naming(self.name):
            keys = await context.cluster.connect.plugin_config(self.name)
        if self.search is not None:
            wanted = Pattern(self.search, ignore_case=True)
            keys = [k for k in keys if wanted.occurs_in(k["name"]) or wanted.occurs_in(k.get("documentation") or "")]
            if not keys:
                raise NotFound(f"{self.name} has no key that matches {self.search}", 404)
        ranked = sorted(keys, key=lambda key: (not key.get("required"), key["name"]))
        rows = tuple(_row(key) for key in ranked)
        columns = ("KEY", "TYPE", "REQUIRED", "DEFAULT", "IMPORTANCE", "DOCUMENTATION")
        return Result(ranked, Table(columns, rows, frozenset({"IMPORTANCE"})), names=tuple(k["name"] for k in ranked))


def _row(key: KeyResponse) -> tuple[str, str, str, str, str, str]:
    default = key.get("default_value")
    return (
        key["name"],
        (key.get("type") or "").lower(),
        "yes" if key.get("required") else "",
        "" if default is None else str(default),
        (key.get("importance") or "").lower(),
        one_line(key.get("documentation") or ""),
    )


class ReloadPlugin(ChangingCommand):
    """Search the plugins of all workers again. Connectors with changed plugins restart with the new code.

    PLUGIN limits this to one plugin: its class, alias, module, or the folder of its environment.
    """

    verb, noun = "reload plugin", "plugin"

    name = optional_positional("PLUGIN", "default: all plugins")

    async def run(self, context: CommandContext) -> Result:
        name = self.name or None
        if self.dry_run:
            return confirmation([TargetOutcome(name or "plugins", "would be reloaded on all workers")])
        try:
            response = await context.cluster.connect.reload_plugins(name, context.cluster.change_store.origin(""))
        except NotFound as error:
            if not error.message.startswith("HTTP 404"):
                raise
            raise NotFound("this cluster cannot reload plugins", 404, "only Headrace workers can") from None
        outcomes = []
        for worker, reloaded in response["workers"].items():
            if reloaded is None:
                outcomes.append(TargetOutcome(worker, "did not respond: reload again", UNREACHABLE))
                continue
            text = (
                f"restarting {', '.join(reloaded['restarted'])}"
                if reloaded["restarted"]
                else "reloaded, nothing restarts"
            )
            if reloaded["missing"]:
                text += f"; the plugins of {', '.join(reloaded['missing'])} are missing"
            outcomes.append(TargetOutcome(worker, text, raw=reloaded))
        return confirmation(outcomes)
