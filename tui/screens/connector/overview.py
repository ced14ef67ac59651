"""The text of the overview: state, tasks, worker, topics, reasons of failures, notices."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.config.secrets import shown
from tui.formatting import counted
from tui.model import Connector
from tui.screens.base import stack_traces
from tui.widgets import states
from tui.widgets.text import visible

Part = str | Content | tuple[str, str]
CONFIG_KEYS = (
    "topics",
    "topics.regex",
    "topic",
    "file",
    "tasks.max",
    "errors.tolerance",
    "errors.deadletterqueue.topic.name",
    "transforms",
)
Pairs = Sequence[tuple[str, Content]]
NOTHING = Content("")
MAX_TASKS = 12  # the tasks tab shows all


def overview(one: Connector, notices: Sequence[str] = (), pace: Pairs = (), below: Content = NOTHING) -> Content:
    """`pace`: labels and texts about progress; `below`: text shown after the reasons of failures."""
    parts: list[Part] = []

    def line(key: str, *value: Part) -> None:
        parts.extend([(f"{key:<16} ", "$text-muted"), *value, "\n"])

    line("connector", (states.word(one.state), states.ink(one.state)))
    failed = [(f", {one.failed} failed", "bold $error")] if one.failed else []
    line("tasks", f"{one.running} of {counted(len(one.tasks), 'task')} running", *failed)
    line("type", visible(one.type))
    line("class", visible(one.cls), (f"  {visible(one.version)}" if one.version else "", "$text-muted"))
    line("worker", visible(one.worker))
    for key, value in pace:
        line(key, value)
    config = shown(one.config)
    for key in CONFIG_KEYS:
        if key in config:
            line("dead letters" if "deadletter" in key else key, visible(config[key]))
    for task in sorted(one.tasks, key=lambda task: (task.state != "FAILED", task.id))[:MAX_TASKS]:
        line(
            f"task {task.id}",
            (states.word(task.state), states.ink(task.state)),
            (f"  {visible(task.worker)}", "$text-muted"),
        )
    if len(one.tasks) > MAX_TASKS:
        line("", (f"and {len(one.tasks) - MAX_TASKS} more; 2 shows all", "$text-muted"))
    for question, why in stack_traces.causes(one):
        parts.append((f"\n{question} (t shows the full trace)\n", "bold $accent"))
        parts += [(f"{text}\n", "$error") for text in why]
    parts.append(below)
    if notices:
        parts.append(("\nnotices of the worker\n", "bold $accent"))
        parts += [f"{visible(text)}\n" for text in notices[::-1]]
    return Content.assemble(*parts)
