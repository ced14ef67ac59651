"""Text of a server is shown literally in messages, questions, plugins, dead letters and logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.content import Content
from textual.screen import Screen

from tests.support.console.console import Console
from tests.support.console.snapshot import RECORDING, recorded, scripted_topic, still, with_answers
from tests.tui.hostile.test_hostile import harmless
from tui.client.workers import ClusterWorker, ClusterWorkers
from tui.cluster.snapshot import Notice
from tui.config.new_connector import NewConnector
from tui.contexts.profiles import Profile
from tui.dead_letters.brokers import DeadLetterWindow, SendResult
from tui.dead_letters.letters import PREFIX, DeadLetter
from tui.metrics.rate_history import RateHistory
from tui.metrics.worker_metrics import WorkerMetrics
from tui.model import Offset
from tui.offsets.changes import ChangeKind, OffsetChange
from tui.offsets.plan import OffsetPlan, OffsetsApplied, OffsetsNotApplied
from tui.screens.base.curves import Plots
from tui.screens.base.dialog import Dialog
from tui.screens.base.reading import Reading
from tui.screens.clusters.loggers import LevelMenu, LoggersScreen
from tui.screens.clusters.worker_change import question as drain_question
from tui.screens.clusters.worker_change import worker_command
from tui.screens.clusters.worker_inside import described
from tui.screens.clusters.worker_rows import Unit
from tui.screens.clusters.worker_units import WorkerUnitsScreen
from tui.screens.clusters.workers import WorkersScreen
from tui.screens.connector import failed_records
from tui.screens.create.plugins import PluginsScreen
from tui.screens.create.review import ReviewScreen
from tui.screens.create.wizard import CreateScreen
from tui.screens.dead_letters.dead_letters import DeadLettersScreen
from tui.screens.offsets import wording
from tui.screens.operations.actions import ACTIONS
from tui.screens.operations.bulk import chosen
from tui.screens.operations.bulk_screen import question
from tui.screens.services.cluster_services import ClusterServices

__all__ = ["still"]
EVIL = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 [/oops] [bold]b[/bold] \u202eright to left\u202c \u2066x\u2069 "
    "a\u200bb\ufeff 日本語 e\u0301\u0302 👩‍👩‍👧 \x9b31m \r\n\tnext line \x00 $error [@click=app.bell]x[/]"
)
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
sizes = pytest.mark.parametrize("size", [(80, 24), (160, 40)], ids=str)
pytestmark = pytest.mark.usefixtures("still")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The hostile recording, its plugins with hostile names, documentation, values and validation messages."""
    head, *lines = RECORDING.with_name("hostile.jsonl").read_text("utf-8").splitlines()
    entries = [entry for line in lines if (entry := json.loads(line))["method"] == "GET"]
    keys = [{**_key("name"), "required": True}, _key("connector.class"), _key(EVIL), _key("file")]
    paths = (f"/connector-plugins/{SOURCE}/config", "/connector-plugins/FileStreamSource/config")
    entries += [{"at": 0.0, "method": "GET", "path": path, "answer": keys} for path in paths]
    for entry in entries:
        if entry["path"].startswith("/connector-plugins?"):
            entry["answer"] = [{"class": SOURCE, "type": "source", "version": EVIL}, {"class": EVIL, "type": EVIL}]
    value = {"errors": [EVIL], "recommended_values": [EVIL], "visible": True, "value": EVIL}
    configs = [{"definition": key, "value": {**value, "name": key["name"]}} for key in keys]
    for name in ("FileStreamSource", "FileStreamSourceConnector"):
        answer = {"name": EVIL, "error_count": 4, "groups": [EVIL], "configs": configs}
        path = f"/connector-plugins/{name}/config/validate"
        entries.append({"at": 0.0, "method": "PUT", "path": path, "answer": answer})
    file = tmp_path / "evil.jsonl"
    file.write_text("\n".join([head, *map(json.dumps, entries)]) + "\n", "utf-8")
    return file


def _key(name: str) -> dict[str, Any]:
    texts = dict.fromkeys(("documentation", "default_value", "display_name", "group"), EVIL)
    return {"name": name, "type": "STRING", "importance": "HIGH", "required": False, "width": "LONG", **texts}


async def shown(seen: Console, screen: Screen[Any]) -> None:
    """Shows the screen, checks it, presses a key that is not bound, and closes it."""
    seen.app.push_screen(screen)
    await seen.until(lambda: seen.app.screen is screen)
    await seen.pilot.pause()
    harmless(seen)
    await seen.press("ctrl+g")
    await seen.until(lambda: seen.app.screen is screen)
    screen.dismiss(None)
    await seen.until(lambda: seen.app.screen is seen.home)


def services_of(seen: Console) -> ClusterServices:
    return seen.home.view.services


def page_of(content: Content) -> Callable[[int], Content]:
    """A page with the same content at every width."""
    return lambda width: content


@sizes
async def test_messages(size: tuple[int, int], recording: Path) -> None:
    async with recorded(*size, recording) as seen:
        await seen.sees("[/oops]")
        for kind in ("info", "good", "warn", "bad", "busy"):
            seen.home.report(EVIL, kind)
            await seen.sees("[bold]b[/bold]")
            harmless(seen)
        seen.home.noticed(Notice(EVIL, "ERROR", EVIL, "fails", 0))
        await seen.go("fails")
        await seen.press("enter", "1")
        harmless(seen)
        operation = seen.home.operations.begin(EVIL, EVIL, lines=(EVIL,), doing=EVIL)
        seen.home.operations.note(operation, EVIL)
        await seen.press("escape", "o")
        harmless(seen)
        seen.home.operations.failed(operation, EVIL)
        await seen.pilot.pause(0.1)
        harmless(seen)


@sizes
async def test_questions(size: tuple[int, int], recording: Path) -> None:
    async with recorded(*size, recording) as seen:
        await seen.sees("[/oops]")
        home = seen.home
        assert home.services is not None
        for one in home.snapshot.connectors.values():
            await shown(seen, home.controller._question(ACTIONS["delete"], one))
        targets = chosen(ACTIONS["stop"], list(home.snapshot.connectors.values()), lambda name: None)
        await shown(seen, question(ACTIONS["stop"], targets, home.snapshot.connectors, EVIL))
        change = OffsetChange(ChangeKind.ALTER, {EVIL: EVIL}, {EVIL: 1}, {EVIL: EVIL})
        plan = OffsetPlan(EVIL, (Offset({EVIL: EVIL}, {EVIL: 1}),), (change,), "RUNNING")
        await shown(seen, Dialog(EVIL, wording.question(plan), EVIL, name=EVIL, why=EVIL))
        verdict = OffsetsApplied(plan, home_verdict(), (), (change,), True, EVIL)
        await shown(seen, Reading(EVIL, page_of(wording.verdict(plan, verdict)[0])))
        await shown(seen, Reading(EVIL, page_of(wording.refusal(OffsetsNotApplied(EVIL, EVIL, stopped=True)))))


def home_verdict() -> Any:
    from tui.model import Certainty, Verdict

    return Verdict(Certainty.POSSIBLE, EVIL)


@sizes
async def test_plugins_wizard_and_review(size: tuple[int, int], recording: Path) -> None:
    async with recorded(*size, recording) as seen:
        await seen.sees("[/oops]")
        await seen.press("P")
        await seen.until(lambda: isinstance(seen.app.screen, PluginsScreen))
        await seen.sees("FileStreamSourceConnector")
        for _ in range(3):
            harmless(seen)
            await seen.press("down")
        await seen.press("g", "tab", "G", "k")
        await seen.sees("[/oops]")
        harmless(seen)
        await seen.press("tab", "c")
        await seen.until(lambda: isinstance(seen.app.screen, CreateScreen))
        await seen.press("a")
        await seen.sees("✗", "[/oops]")
        for _ in range(4):
            harmless(seen)
            await seen.press("down")
        new = NewConnector(SOURCE, {"name": EVIL, EVIL: EVIL, "file": EVIL})
        seen.app.push_screen(ReviewScreen(services_of(seen), new, ()))
        await seen.sees("create")
        harmless(seen)


@sizes
async def test_config_editor(size: tuple[int, int], recording: Path) -> None:
    async with recorded(*size, recording) as seen:
        await seen.sees("[/oops]")
        await seen.go("[/oops]")
        await seen.press("enter", "3", "e")
        await seen.until(lambda: seen.home.view.config.is_editing)
        await seen.until(lambda: seen.home.view.config.validator.settled)
        await seen.sees("✗ line")
        harmless(seen)
        await seen.press("f3")
        harmless(seen)


def letters() -> tuple[DeadLetter, ...]:
    evil = EVIL.encode("utf-8", "surrogatepass")
    names = ("stage", "exception.class.name", "exception.message", "exception.stacktrace", "class.name", "topic")
    headers = tuple((PREFIX + name, evil) for name in names)
    place = ((PREFIX + "partition", b"1"), (PREFIX + "offset", b"7"), (EVIL, evil))
    values = (evil, json.dumps({EVIL: [EVIL]}, ensure_ascii=False).encode(), b"\xff\x00" + evil, None)
    return tuple(DeadLetter("dead", 0, number, 0, evil, value, headers + place) for number, value in enumerate(values))


@sizes
async def test_dead_letters(size: tuple[int, int], recording: Path) -> None:
    window = DeadLetterWindow(letters(), {0: 0}, {0: 0}, {0: 4})
    async with recorded(*size, recording, bootstrap="broker:9092") as seen:
        await seen.sees("[/oops]")
        connector = seen.home.snapshot.connectors["[/oops]"]
        screen = DeadLettersScreen(services_of(seen), connector, scripted_topic(window))
        seen.app.push_screen(screen)
        await seen.until(lambda: screen.letters)
        for _ in window.letters:
            for _ in range(3):  # each view of the value
                await seen.press("v")
                harmless(seen)
            for _ in range(4):
                await seen.press("tab", "pagedown", "tab")
                harmless(seen)
            await seen.press("space")
        screen.sent = {one.id: SendResult(one, EVIL if one.offset % 2 else "", EVIL) for one in window.letters}
        screen.draw()
        await seen.pilot.pause()
        harmless(seen)


@sizes
async def test_workers_loggers_failed_records(size: tuple[int, int], recording: Path, tmp_path: Path) -> None:
    loggers_answer = {"/admin/loggers": {EVIL: {"level": EVIL, "last_modified": 1}}}
    async with recorded(*size, with_answers(recording, tmp_path, loggers_answer)) as seen:
        await seen.sees("[/oops]")
        connect = services_of(seen).connect

        async def refuse(*_: object) -> bool:
            return False

        async def refuse_change(*_: object) -> tuple[str, str]:
            return EVIL, "bad"

        workers = WorkersScreen(EVIL, connect, EVIL, refuse_change)
        one = ClusterWorker(
            EVIL, (EVIL,), ((EVIL, 0),), EVIL, True, EVIL, EVIL, slots=1, load=0.5, memory=1_000_000, url=EVIL
        )
        workers.group = ClusterWorkers({EVIL: one}, True, EVIL, 1, EVIL, True, {(EVIL, 0): 1.0})
        await shown(seen, workers)
        workers.report(*await refuse_change())
        harmless(seen)
        found = [Unit(EVIL, 0, EVIL, EVIL, EVIL)]
        await shown(seen, WorkerUnitsScreen(EVIL, lambda: (found, False)))
        drain = drain_question(worker_command("drain", EVIL), one, Profile("http://w", EVIL, production=True))
        assert drain is not None
        await shown(seen, drain)

        loggers = LoggersScreen(EVIL, connect, refuse)
        await shown(seen, loggers)
        await seen.until(lambda: loggers.loggers)
        harmless(seen)
        await shown(seen, LevelMenu(EVIL, EVIL))
        record = {"time": 1, "task": 0, "stage": EVIL, "topic": EVIL, "message": EVIL, "cause": EVIL}
        answer = {"since": 0, "total": {"failed": 1}, "stages": {EVIL: {"failed": 1}}, "last": [record]}
        await shown(seen, Reading("errors", page_of(failed_records.content(answer))))
        inside = described(WorkerMetrics({0: 1}, 5.0, 1, 1, 1, 1), RateHistory(), Plots(20, 1), 0.0)
        await shown(seen, Reading("inside", page_of(Content.assemble(inside))))
