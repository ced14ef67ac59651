"""Snapshots of the screens between contexts and of deleted connectors, with recorded answers of two clusters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.support.console.console import Console
from tests.support.console.snapshot import NOON, RECORDING, SIZES, recorded, same, still, with_answers
from tests.tui.test_page_snapshots import validated
from tui import session
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Contexts, Profile
from tui.screens.config.deleted_screen import DeletedScreen
from tui.screens.contexts import diff_screen
from tui.screens.contexts.diff_screen import DiffScreen
from tui.screens.contexts.promote_screen import PromoteScreen

__all__ = ["still"]
pytestmark = pytest.mark.usefixtures("still")
sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
EXPANDED = "/connectors?expand=status&expand=info"
DELETED = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db-prod",
    "database.password": "s3cret",
    "tasks.max": "1",
    "topic.prefix": "shop",
}


def answers() -> dict[str, Any]:
    lines = [json.loads(line) for line in RECORDING.read_text("utf-8").splitlines()]
    return {line["path"]: line["answer"] for line in lines if "path" in line}


@pytest.fixture
def prod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Profile]:
    """A context `prod` whose recorded cluster differs: other values, a connector more, some less."""
    found = answers()
    listed = json.loads(json.dumps(found[EXPANDED]))
    for name in ("stock", "audit-log"):
        del listed[name]
    listed["payments-ledger"]["info"]["config"] |= {"tasks.max": "8", "errors.tolerance": "all"}
    del listed["orders-archive"]["info"]["config"]["topics"]
    listed["orders-archive"]["info"]["config"]["topics.regex"] = "orders\\.(emea|apac|americas)\\.v[0-9]+" * 3
    listed["invoices"] = listed["orders-log"]
    listed["payments-ledger"]["info"]["config"]["pin"] = "4711"
    offsets = found["/connectors/payments-ledger/offsets"]["offsets"]
    moved = [{**one, "offset": {"kafka_offset": number * 1500}} for number, one in enumerate(offsets[:2])]
    pin = {**found["/connector-plugins/FileStreamSink/config"][0], "name": "pin", "type": "PASSWORD"}
    more: dict[str, Any] = {
        EXPANDED: listed,
        "/connectors/payments-ledger/offsets": {"offsets": moved},
        "/connector-plugins/FileStreamSink/config": [*found["/connector-plugins/FileStreamSink/config"], pin],
    }
    more |= {f"/connectors/{name}/config": one["info"]["config"] for name, one in listed.items()}
    recording = with_answers(RECORDING, tmp_path, more)
    lines = [json.loads(line) for line in recording.read_text("utf-8").splitlines()]
    gone = [f"/connectors/{name}/config" for name in ("stock", "audit-log")]
    kept = [line for line in lines if line.get("path") not in (EXPANDED, *gone) or line.get("answer") == listed]
    for plugin in ("FileStreamSource", "FileStreamSink"):
        path = f"/connector-plugins/{plugin}/config/validate"
        keys = validated(found[f"/connector-plugins/{plugin}/config"])
        kept.append({"at": 0.0, "method": "PUT", "path": path, "answer": keys})
    recording.write_text("\n".join(map(json.dumps, kept)) + "\n", "utf-8")
    one = Profile("http://connect-prod:8083", "prod", production=True, read_only=True, replay=str(recording))
    monkeypatch.setattr(ContextsFile, "load", lambda self: Contexts("", {"prod": one}))
    folder = session.profiles().path.parent
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "config.toml"
    file.write_text('[promote.prod]\nvalues = { "/tmp/" = "/srv/prod/" }\nset = { "tasks.max" = "4" }\n', "utf-8")
    yield one
    file.unlink()


def screen(seen: Console) -> PromoteScreen:
    assert isinstance(seen.app.screen, PromoteScreen)
    return seen.app.screen


async def test_offsets_are_read_once_and_only_where_the_cursor_rests(
    prod: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, timers = list[Any](), list[Mock]()

    async def read_offsets(*sides: Any) -> None:
        reads.append(sides)
        await asyncio.Event().wait()

    def set_timer(*arguments: Any, **more: Any) -> Mock:
        timers.append(Mock())
        return timers[-1]

    monkeypatch.setattr(diff_screen, "read_offsets", read_offsets)
    async with recorded(120, 40) as seen:
        await seen.sees("orders-log")
        await seen.press("equals_sign")
        await seen.until(lambda: reads, "the first row")
        shown = seen.app.screen
        assert isinstance(shown, DiffScreen)
        shown._read_current()
        await seen.pilot.pause()
        assert len(reads) == 1, "it is being read"
        monkeypatch.setattr(shown, "set_timer", set_timer)
        await seen.press("j", "j", "j")
        assert [timer.stop.called for timer in timers] == [True, True, False]
        shown._read_current()
        await seen.until(lambda: len(reads) == 2, "the row on which the cursor rests")


@sizes
async def test_diff_and_promotion(size: tuple[int, int], prod: Profile) -> None:
    async with recorded(*size) as seen:
        await seen.sees("orders-log")
        await seen.go("payments-ledger")
        await seen.press("equals_sign")
        await seen.until(lambda: isinstance(seen.app.screen, DiffScreen))
        await seen.sees("of 10 differ", "errors.tolerance", "unequal")
        await same(seen, "diff")
        assert "4711" not in seen.text
        await seen.press("v")
        await seen.sees("+ pin = ********")
        await same(seen, "diff-lines")
        await seen.press("space", "g", "space", "greater_than_sign")
        await seen.until(lambda: isinstance(seen.app.screen, PromoteScreen))
        await seen.sees("nothing can be promoted", "masks consumer.override")
        await same(seen, "promote")
        await seen.press("greater_than_sign")
        await seen.sees("a recording is read-only")
        await seen.press("x", "down")
        await seen.until(lambda: screen(seen).current is not None, "a row after the one that was left out")
        await seen.press("x")
        await seen.sees("no connector is left to promote")


@sizes
async def test_deleted_connectors(size: tuple[int, int], tmp_path: Path) -> None:
    at = int(NOON * 1000)
    rows = [
        {"name": "shop-source", "time": at - 90_000, "who": "ops@bastion", "why": "wrong database"},
        {"name": "old-archive", "time": at - 86_400_000, "who": "deploy@ci", "why": ""},
    ]
    entry = {"number": 4, "action": "delete", "state": "RUNNING", "after": None}
    changed = {**entry, **rows[0], "before": DELETED}
    offsets = [{"partition": {"server": "shop"}, "offset": {"lsn": 23_884_120, "txId": 771}}]
    past = {"number": 2, "time": at - 91_000, "action": "delete", "who": "ops@bastion", "why": ""}
    more = {
        "/deleted-connectors": {"deleted": rows},
        "/connectors/shop-source/config/history": {"history": [changed]},
        "/connectors/shop-source/offsets/history": {"history": [{**past, "before": offsets, "after": []}]},
        "/": {"version": "4.3.0", "commit": "headrace-0.1.0", "kafka_cluster_id": "stOMBzpMSeufFdpCsaUWFw"},
    }
    async with recorded(*size, with_answers(RECORDING, tmp_path, more)) as seen:
        await seen.sees("orders-log")
        await seen.press("U")
        await seen.until(lambda: isinstance(seen.app.screen, DeletedScreen))
        await seen.sees("shop-source", "1 offset restored")
        assert "s3cret" not in seen.text
        await same(seen, "deleted")
        await seen.press("R")
        await seen.sees("a recording is read-only")
