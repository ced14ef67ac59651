"""`help`: the list of commands and the help of each, read from their declarations."""

from __future__ import annotations

from collections.abc import Sequence

from tui.commands.arguments import positionals
from tui.commands.base import Command
from tui.commands.context import CommandContext
from tui.commands.registry import commands, find
from tui.commands.result import Result


class Help(Command):
    """List the commands, or show the help of one."""

    verb = "help"
    local = True

    command = positionals("COMMAND", "for example `help patch offsets`", at_least=0)

    async def run(self, context: CommandContext) -> Result:
        text = explain(self.command) if self.command else overview()
        return Result({"help": text}, text=text, prose=True)


def overview() -> str:
    """All commands with their summaries."""
    return listed(commands())


def listed(commands: Sequence[type[Command]]) -> str:
    """One line per command: the verb and its summary."""
    width = max(len(command.verb) for command in commands)
    return "\n".join(f"{command.verb:<{width}}  {command.summary()}" for command in commands)


def explain(line: tuple[str, ...]) -> str:
    """Usage, help and arguments of a command; for a verb with several nouns, its commands. Raises UsageError."""
    of_verb = [command for command in commands() if line == (command.verb.partition(" ")[0],) != (command.verb,)]
    if len(of_verb) > 1:
        return listed(of_verb)
    command = of_verb[0] if of_verb else find(line)[0]
    paragraphs = [line.strip() for line in (command.__doc__ or "").strip().splitlines()]
    lines = [command.usage(), "", *paragraphs, ""]
    for argument in command.arguments().values():
        name = ", ".join(argument.flags) or argument.metavar
        value = f" {argument.metavar}" if argument.flags and argument.convert else ""
        lines.append(f"  {name + value:<34} {argument.help}".rstrip())
    return "\n".join(lines)
