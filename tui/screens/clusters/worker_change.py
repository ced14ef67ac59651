"""Cordon, uncordon and drain from the workers screen: the command of a key, and its question."""

from __future__ import annotations

from textual.content import Content

from tui.client.workers import ClusterWorker
from tui.commands.cluster.workers import Cordon, Drain, EachWorker, Uncordon, units_text
from tui.contexts.profiles import Profile
from tui.screens.base.dialog import Dialog

_COMMANDS: dict[str, type[EachWorker]] = {"cordon": Cordon, "uncordon": Uncordon, "drain": Drain}
_AFTERWARDS = "The worker stays in the group, and receives no others until it is uncordoned (u)."


def worker_command(verb: str, worker_id: str) -> EachWorker:
    """The command of cordon, uncordon or drain for one worker."""
    return _COMMANDS[verb](workers=(worker_id,))


def question(command: EachWorker, worker: ClusterWorker, profile: Profile) -> Dialog | None:
    """The question before a command; None if it needs no confirmation."""
    if not command.danger:
        return None
    verb = command.verb.partition(" ")[0]
    where = f" on {profile.label}" if profile.production else ""
    effect = f"Its {units_text(worker)} move to other workers."
    body = Content.assemble(effect, "\n", _AFTERWARDS)
    return Dialog(f"{verb} {worker.worker_id}{where}?", body, verb, danger=profile.production)
