"""Similar names for a name that the cluster does not know: `did you mean orders-sink?`"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tui.commands.result import Result, TargetOutcome
from tui.errors import NOT_FOUND, HeadraceError, NotFound
from tui.formatting import did_you_mean

if TYPE_CHECKING:
    from tui.client.client import Connect

_OTHER_NAMES = ("logger", "context", "worker", "orphans", "history", "unfinished", "finish")  # not of connectors


async def advise(error: NotFound, verb: str, given: Sequence[str], connect: Connect) -> None:
    """Adds similar names as advice to an error about an unknown connector or plugin; other errors stay as they are.
    `given` are the names that the command was given."""
    names = [name for name in given if name in f"{error.subject} {error.message}"]
    if names and not error.advice and names[0] not in (known := await _known(verb, connect)):
        error.advice = did_you_mean(names[0], known)


async def advised(result: Result, verb: str, connect: Connect) -> Result:
    """The result, in which outcomes of unknown connectors have similar names."""
    known = await _known(verb, connect)

    def complete(outcome: TargetOutcome) -> TargetOutcome:
        if outcome.code != NOT_FOUND or "did you mean" in outcome.message:
            return outcome
        name = outcome.name.partition("/")[0]
        meant = "" if name in known else did_you_mean(name, known)  # otherwise the task is unknown
        return outcome._replace(message=f"{outcome.message} ({meant})") if meant else outcome

    return result._replace(outcomes=tuple(map(complete, result.outcomes)))


async def _known(verb: str, connect: Connect) -> Collection[str]:
    """The names that the arguments of a verb may have; none if the cluster does not respond."""
    if any(word in verb for word in _OTHER_NAMES):
        return ()
    try:
        if "plugin" in verb:
            classes = [str(plugin["class"]) for plugin in await connect.plugins(connectors_only=False)]
            return [*(classe.rpartition(".")[2] for classe in classes), *classes]
        return await connect.names()
    except HeadraceError:
        return ()
