"""All commands, and the lookup of a command by its words. A command's module is imported when it is looked up."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tui.errors import UsageError

if TYPE_CHECKING:
    from tui.commands.base import Command

# Each verb with its module and class, in the order of the help and the palette.
VERBS = {
    "info": "cluster.reading:Info",
    "get connectors": "cluster.reading:GetConnectors",
    "get plugins": "cluster.plugins:GetPlugins",
    "get loggers": "cluster.loggers:GetLoggers",
    "get topics": "cluster.topics:GetTopics",
    "topics": "cluster.cluster_topics:Topics",
    "describe topic": "cluster.describe_topic:DescribeTopic",
    "records": "cluster.records:Records",
    "diff records": "cluster.diff_records:DiffRecords",
    "get deadletters": "cluster.dead_letters:GetDeadLetters",
    "replay deadletters": "cluster.dead_letters:ReplayDeadLetters",
    "get events": "cluster.events:GetEvents",
    "get offsets": "cluster.reading:GetOffsets",
    "get failing records": "offsets.failing_record:GetFailingRecords",
    "get offset history": "offsets.history:GetOffsetHistory",
    "get failures": "cluster.failures:GetFailures",
    "get restarts": "cluster.restarts:GetRestarts",
    "get workers": "cluster.workers:GetWorkers",
    "get contexts": "contexts:GetContexts",
    "describe connector": "cluster.reading:DescribeConnector",
    "describe plugin": "cluster.plugins:DescribePlugin",
    "describe worker": "cluster.workers:DescribeWorker",
    "preview connector": "connectors.preview:Preview",
    "check": "cluster.watching:Check",
    "watch": "cluster.watching:Watch",
    "apply": "connectors.applying:Apply",
    "diff connectors": "connectors.comparing:DiffConnectors",
    "promote connector": "connectors.promoting:Promote",
    "stop connector": "connectors.lifecycle:Stop",
    "pause connector": "connectors.lifecycle:Pause",
    "resume connector": "connectors.lifecycle:Resume",
    "restart connector": "connectors.lifecycle:Restart",
    "restart task": "connectors.lifecycle:RestartTask",
    "restart failures": "cluster.failures:RestartFailures",
    "delete connector": "connectors.lifecycle:Delete",
    "patch connector": "connectors.patching:PatchConnector",
    "patch logger": "cluster.loggers:PatchLogger",
    "patch offsets": "offsets.altering:PatchOffsets",
    "skip record": "offsets.failing_record:SkipRecord",
    "delete offsets": "offsets.altering:DeleteOffsets",
    "export offsets": "offsets.transfer:ExportOffsets",
    "import offsets": "offsets.transfer:ImportOffsets",
    "backup": "cluster.backup:Backup",
    "restore": "cluster.restore:Restore",
    "undo": "offsets.history:Undo",
    "rollback": "offsets.history:Rollback",
    "get unfinished": "offsets.history:GetUnfinished",
    "finish": "offsets.history:Finish",
    "get config history": "connectors.config_history:GetConfigHistory",
    "undo config": "connectors.config_history:UndoConfig",
    "rollback config": "connectors.config_history:RollbackConfig",
    "get deleted connectors": "connectors.deleted_connectors:GetDeleted",
    "undo delete": "connectors.deleted_connectors:UndoDelete",
    "get orphans": "offsets.orphans:GetOrphans",
    "delete orphans": "offsets.orphans:DeleteOrphans",
    "wait connector": "connectors.waiting:Wait",
    "cordon worker": "cluster.workers:Cordon",
    "uncordon worker": "cluster.workers:Uncordon",
    "drain worker": "cluster.workers:Drain",
    "reload plugin": "cluster.plugins:ReloadPlugin",
    "copy": "screen:CopyShown",
    "export screen": "screen:ExportScreen",
    "config": "settings:Config",
    "config set-context": "contexts:SetContext",
    "config use-context": "contexts:UseContext",
    "config remove-context": "contexts:RemoveContext",
    "config import-kcctl": "contexts:ImportKcctl",
    "config current-context": "contexts:CurrentContext",
    "help": "helping:Help",
}

# Other spellings: `connector` and `worker` may be omitted, and kcctl's words work.
ALIASES = {
    "get": "get connectors",
    "list": "get connectors",
    "get deleted": "get deleted connectors",
    "describe": "describe connector",
    "diff": "diff connectors",
    "promote": "promote connector",
    "preview": "preview connector",
    "stop": "stop connector",
    "pause": "pause connector",
    "resume": "resume connector",
    "restart": "restart connector",
    "delete": "delete connector",
    "patch": "patch connector",
    "wait": "wait connector",
    "cordon": "cordon worker",
    "uncordon": "uncordon worker",
    "drain": "drain worker",
    "reload": "reload plugin",
    "get dead letters": "get deadletters",
    "replay dead letters": "replay deadletters",
    "replay": "replay deadletters",
    "current-context": "config current-context",
    "set-context": "config set-context",
    "use-context": "config use-context",
    "remove-context": "config remove-context",
    "config get-contexts": "get contexts",
}

_NOUNS = (
    "connector",
    "deadletter",
    "letter",
    "plugin",
    "offset",
    "context",
    "task",
    "topic",
    "record",
    "logger",
    "event",
    "failure",
    "worker",
)


def _key(words: tuple[str, ...]) -> str:
    """A verb in its canonical spelling, so that `get connector` and `get connectors` are the same."""
    return " ".join(word[:-1] if word.endswith("s") and word[:-1] in _NOUNS else word for word in words)


_BY_KEY = {_key(tuple(verb.split())): verb for verb in VERBS}
_BY_KEY |= {_key(tuple(alias.split())): verb for alias, verb in ALIASES.items()}


def command(verb: str) -> type[Command]:
    """The class of a verb of VERBS."""
    module, _, name = VERBS[verb].partition(":")
    kind: type[Command] = getattr(import_module(f"tui.commands.{module}"), name)
    return kind


def commands() -> list[type[Command]]:
    """All commands, for the help, the palette and the completion."""
    return [command(verb) for verb in VERBS]


def find(words: tuple[str, ...]) -> tuple[type[Command], int]:
    """The command and the number of words in its verb; the longest match wins. Raises UsageError."""
    for count in (3, 2, 1):
        verb = _BY_KEY.get(_key(words[:count])) if len(words) >= count else None
        if verb is not None:
            return command(verb), count
    raise UsageError(_unknown(words))


def _unknown(words: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    typed = words[0] if words else ""
    resources = sorted(verb.removeprefix(typed).strip() for verb in VERBS if verb.startswith(typed + " "))
    if resources:
        return f"`{typed}` needs a resource: {', '.join(resources)}"
    close = get_close_matches(typed, sorted({key.split()[0] for key in _BY_KEY}), 1)
    return f"unknown command {typed!r}" + (f"; did you mean {close[0]!r}?" if close else "; `help` lists the commands")
