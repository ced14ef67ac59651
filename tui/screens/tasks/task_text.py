"""What is known of one task, as text: failure, last restart, offsets and lag, log, and trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from textual.content import Content

from tui.causes import chain
from tui.failures import FailedUnit
from tui.formatting import clock_time, counted
from tui.model import Connector, Task
from tui.offsets import lag, partitions
from tui.screens.base import log_lines, restart_text, stack_traces
from tui.screens.services.last_restarts import LastRestart
from tui.screens.services.offset_reader import ReadOffsets
from tui.widgets import states
from tui.widgets.text import visible

MAX_PARTITIONS, MAX_LINES = 8, 20
Part = str | Content | tuple[str, str]


class TaskFacts(NamedTuple):
    """What was read about the tasks of a connector; each part is None until it has been read."""

    offsets: ReadOffsets | None = None
    no_offsets: str = ""  # why they could not be read
    lines: Sequence[Mapping[str, Any]] | None = None  # of the log, oldest first
    no_lines: str = ""


def of_task(
    connector: Connector, task: Task, facts: TaskFacts, restart: LastRestart | None, since: float | None, now: float
) -> Content:
    """`since`: the time of the connector's last change of state."""
    parts: list[Part] = [("task ", "$text-muted"), (str(task.id), "bold"), "  "]
    parts += [(states.word(task.state), states.style(task.state))]
    parts += [("  on ", "$text-muted"), visible(task.worker or "no worker")]
    parts += [(f"  {visible(task.version)}", "$text-muted") if task.version else ""]
    if since and task.state == connector.overall:
        parts += [(f"  since {clock_time(since, now)}", "$text-muted")]
    parts += ["\n", *_restart(restart, now), *_why(task.state, task.trace)]
    parts += _offsets(connector, facts)
    parts += _log(task, facts)
    return Content.assemble(*parts, *_trace(task.trace))


def of_unit(unit: FailedUnit, restart: LastRestart | None, since: float | None, now: float) -> Content:
    """A failed task, or a connector that failed itself."""
    parts: list[Part] = [(visible(unit.title), "bold"), "  ", (states.word("FAILED"), states.style("FAILED"))]
    parts += [("  on ", "$text-muted"), visible(unit.worker or "no worker")]
    parts += [(f"  since {clock_time(since, now)}", "$text-muted") if since else "", "\n"]
    return Content.assemble(*parts, *_restart(restart, now), *_why("FAILED", unit.trace), *_trace(unit.trace))


def _restart(restart: LastRestart | None, now: float) -> list[Part]:
    parts: list[Part] = [(f"{'last restart':<13}", "$text-muted")]
    if restart is None:
        return [*parts, ("none known", "$text-muted"), "\n"]
    return [*parts, restart_text.content(restart, "" if restart.task is not None else "with its connector", now), "\n"]


def _why(state: str, trace: str) -> list[Part]:
    if not trace:
        return []
    causes = [visible(line) for line in chain(trace)]
    mark = states.glyph(state)
    parts: list[Part] = [("\nroot cause\n", "bold $accent"), (f"{mark} {causes[-1]}\n", "bold $error")]
    if len(causes) > 1:
        parts += [(f"  {causes[0]}\n", "$error"), *((f"  ↳ {line}\n", "$error") for line in causes[1:-1])]
    return parts


def _offsets(connector: Connector, facts: TaskFacts) -> list[Part]:
    others = f", of all {counted(len(connector.tasks), 'task')}" if len(connector.tasks) > 1 else ""
    parts: list[Part] = [(f"\noffsets{others}\n", "bold $accent")]
    if facts.offsets is None:
        return [*parts, (f"{visible(facts.no_offsets) or 'reading…'}\n", "$text-muted")]
    if not facts.offsets.offsets:
        return [*parts, ("none committed yet\n", "$text-muted")]
    lags = facts.offsets.lags
    whole = lag.total(lags)
    parts.append(counted(len(facts.offsets.offsets), "partition"))
    if whole.records is not None:
        parts += [", ", (f"lag {whole.records:,} records", "$warning" if whole.records else "")]
    parts += [f", {text}" if (text := lag.time_of(whole)) else "", "\n"]
    furthest = sorted(
        facts.offsets.offsets, key=lambda entry: -(_lag(lags, entry.partition).records or 0)
    )  # stable: equal ones stay in their order
    for entry in furthest[:MAX_PARTITIONS]:
        behind = _lag(lags, entry.partition)
        text = f"  {visible(partitions.shown(entry.partition))}  {visible(partitions.offset_cell(entry.offset))}"
        parts += [text, (f"  lag {behind.records:,}" if behind.records else "", "$warning"), "\n"]
    if (more := len(furthest) - MAX_PARTITIONS) > 0:
        parts.append((f"  and {more:,} more; 5 shows all\n", "$text-muted"))
    return parts


def _lag(lags: Mapping[str, lag.Lag], partition: Any) -> lag.Lag:
    return lags.get(partitions.key(partition), lag.Lag())


def _log(task: Task, facts: TaskFacts) -> list[Part]:
    heading: Part = ("\nlog\n", "bold $accent")
    if facts.lines is None:
        return [heading, (f"{visible(facts.no_lines) or 'reading…'}\n", "$text-muted")]
    own = [line for line in facts.lines if line.get("task") == task.id]
    if not own:
        return [heading, ("the worker has logged nothing for this task yet\n", "$text-muted")]
    return [heading, log_lines.content(own[-MAX_LINES:]), "\n"]


def _trace(trace: str) -> list[Part]:
    return [("\nfull trace (y copies it)\n", "bold $accent"), *stack_traces.styled(trace)] if trace else []
