"""Dead letters of a sink on Apache's worker: errors, replay to the original topic, export to a file."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import connect
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES
from tests.support.console.console import console
from tests.support.console.script_console import Console, ScriptResult
from tests.support.kafka.faulty_broker import PRODUCE, Damage, Fault, FaultyBroker
from tests.support.kafka.topics import values
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui.dead_letters import brokers
from tui.dead_letters.brokers import DeadLetterTopic
from tui.dead_letters.letters import PREFIX, DeadLetter
from tui.errors import HeadraceError
from tui.topics import reader


def dead_letters(cluster: Cluster, broker: KafkaBroker, records: list[bytes]) -> tuple[str, str, DeadLetterTopic]:
    """A topic of records, some of which are not JSON, a sink that reads them as JSON, and its dead letter topic."""
    topic = unique("letters")
    with broker.writing() as write:
        for number, record in enumerate(records):
            write(topic, record, key=f"k{number}", headers=[("own", b"\x00\xff")])
    name = cluster.sink(topic, **JSON_VALUES, **connect.dead_letters(f"{topic}-dead"))
    return name, topic, DeadLetterTopic(f"{topic}-dead", {"bootstrap.servers": broker.bootstrap})


def count(letters: DeadLetterTopic) -> int:
    try:
        return len(letters.newest(100).letters)
    except HeadraceError:
        return -1


def written(folder: Path) -> list[dict[str, Any]]:
    """The lines of the only exported file in the folder."""
    (file,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


async def test_browse_explain_replay_export(
    cluster: Cluster, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, topic, letters = dead_letters(cluster, broker, [b'{"a": 1}', b"no json [/x]", b"\x00\xfe"])
    wait_until(lambda: count(letters) == 2, 90, "two dead letters", every=0.5)
    monkeypatch.chdir(tmp_path)
    async with console(cluster.url, 160, 60, bootstrap=broker.bootstrap) as seen:
        await seen.go(name)
        await seen.press("d")
        await seen.sees("newest 2 of 2", f"{topic}-0@2", "VALUE_CONVERTER", "JsonParseException")
        await seen.sees("value as hex", "00 fe", "own = ", f"origin {topic} partition 0 offset 2")
        await seen.press("down")
        await seen.sees("value as text", "no json [/x]")
        await seen.press("v")
        await seen.sees("value as hex", "6e 6f 20 6a")
        await seen.press("b")
        await seen.sees("2 records", "VALUE_CONVERTER")
        await seen.press("b")
        await seen.press("asterisk", "x")
        await seen.sees("2 records written to")
        assert [line["value"] for line in written(tmp_path)] == [{"base64": "AP4="}, "no json [/x]"]
        await seen.press("R")
        await seen.sees("send 2 records to", "type 2 to continue", "type the number")
        await seen.confirm("2", "enter")
        await seen.sees("2 records sent", "✓ sent to")
    wait_until(lambda: count(letters) == 4, 90, "a dead letter again", every=0.5)
    again = letters.newest(100).letters[0]
    assert again.key in (b"k1", b"k2") and again.own_headers == [("own", b"\x00\xff")]
    assert again.origin is not None and again.origin[2] >= 3
    assert values(broker.bootstrap, topic, 5)[3:] == [b"no json [/x]", b"\x00\xfe"], "sent in the original order"
    async with console(cluster.url, 160, 60, bootstrap=broker.bootstrap) as seen:
        await seen.go(name)
        await seen.press("d")
        await seen.sees("newest 4 of 4")
        await seen.press("b", "space")
        await seen.sees("4 records", "4 marked")
        await seen.press("b")
        while "value as text" not in seen.text:
            await seen.press("down")
        await seen.press("e")
        await seen.sees("not JSON", "no json [/x]")
        await seen.press("f7", "backspace", *'{"fixed": 1}')
        await seen.sees("valid JSON")
        await seen.press("ctrl+s")
        await seen.sees("R sends the edited value")
        sending, replay = threading.Event(), DeadLetterTopic.replay

        def replay_later(*given: Any) -> Any:
            assert sending.wait(60)
            return replay(*given)

        monkeypatch.setattr(DeadLetterTopic, "replay", replay_later)
        await seen.press("asterisk", "R")
        await seen.sees("1 of them is sent with the edited value")
        await seen.confirm("1", "enter")
        await seen.press("escape", "escape")
        await seen.until(lambda: seen.app.screen is seen.home, "the page to be left")
        sending.set()
        await seen.sees("1 record sent")
    assert b'{"fixed": 1}' in values(broker.bootstrap, topic, 6)
    dead_letters_as_commands(Console(cluster.url, tmp_path / "config"), name, broker, topic)
    older = letters.newest(1, {0: 1})
    assert [one.offset for one in older.letters] == [0] and not older.has_older


def dead_letters_as_commands(headrace: Console, name: str, broker: KafkaBroker, topic: str) -> None:
    """Lists and replays the dead letters of the sink by scripts, with their exit codes."""
    headrace(f"config set-context here {headrace.url} --bootstrap-servers {broker.bootstrap}")

    def run(line: str, code: int = 0) -> ScriptResult:
        return headrace.in_context("here", line, code=code)

    table = run(f"get deadletters {name}").out
    assert "COUNT" in table and "VALUE_CONVERTER: JsonParseException" in table
    places = run(f"get dead letters {name} -o name").out.split()
    assert len(places) >= 4 and {"0@0", "0@1"} <= set(places)
    lines = [json.loads(line) for line in run(f"get deadletters {name} --error UNRECOGNIZED -o jsonl").out.splitlines()]
    assert lines and all("Unrecognized" in line["error"] for line in lines), "filtered by error"
    assert run(f"get deadletters {name} --since 2020-01-01T00:00:00Z --error nothing").out.strip() == "no dead letters"
    run(f"replay deadletters {name}", code=2)
    run(f"replay deadletters {name} 9@99", code=3)
    run("replay deadletters nobody --all", code=3)
    wanted = f"would be sent to {topic}-0"
    assert wanted in run(f"replay deadletters {name} 0@0 --dry-run").err
    file = headrace.environ["XDG_CONFIG_HOME"] + "/edited.jsonl"
    Path(file).write_text(json.dumps({"partition": 0, "offset": 0, "value": {"by": "script"}}) + "\n")
    assert f"{wanted} with the edited value" in run(f"replay deadletters {name} --edit @{file} --dry-run").err
    assert "sent to" in run(f"replay deadletters {name} --edit @{file} -y").err
    Path(file).write_text("")
    assert "no dead letters to replay" in run(f"replay deadletters {name} --edit @{file} -y").out, "an empty selection"
    assert b'{"by":"script"}' in values(broker.bootstrap, topic, 7)
    letters_of_another_connector(run, name, broker, topic)


def letters_of_another_connector(run: Callable[..., ScriptResult], name: str, broker: KafkaBroker, topic: str) -> None:
    """Sinks can share a dead letter topic: letters of others are left out unless they are requested."""
    own = run(f"get deadletters {name} -o name").out.split()
    places: list[str] = []
    headers = {"connector.name": b"other-sink", "topic": topic.encode(), "partition": b"0", "offset": b"0"}
    with broker.writing() as write:
        write(
            f"{topic}-dead",
            b"of the other",
            headers=[(PREFIX + key, value) for key, value in headers.items()],
            on_delivery=lambda _, message: places.append(f"{message.partition()}@{message.offset()}"),
        )
    (place,) = places
    listed = run(f"get deadletters {name} -o name")
    assert listed.out.split() == own
    assert "1 dead letter of other-sink left out; --all-connectors includes them" in listed.err
    assert run(f"get deadletters {name} -o name --all-connectors").out.split() == [place, *own]
    table = run(f"get deadletters {name} --all-connectors").out
    assert "CONNECTOR" in table and "other-sink" in table and name in table
    assert "a dead letter of other-sink; --all-connectors" in run(f"replay deadletters {name} {place} -y", code=3).err
    assert place not in run(f"replay deadletters {name} --all --dry-run").err
    assert place in run(f"replay deadletters {name} --all --all-connectors --dry-run").err
    (line,) = run(f"get deadletters {name} --all-connectors -n 1 -o jsonl").out.splitlines()
    assert json.loads(line)["connector"] == "other-sink"


def test_a_replay_does_not_create_a_topic_that_was_deleted(broker: KafkaBroker) -> None:
    from confluent_kafka.admin import AdminClient

    names = {"topic": unique("gone"), "partition": "0", "offset": "7"}
    headers = tuple((PREFIX + name, text.encode()) for name, text in names.items())
    letter = DeadLetter("dead", 0, 0, value=b"x", headers=headers)
    (result,) = DeadLetterTopic("dead", {"bootstrap.servers": broker.bootstrap}).replay([letter])
    assert "Unknown topic or partition" in result.error
    assert names["topic"] not in AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(timeout=30).topics


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
def test_a_replayed_record_keeps_its_timestamp_if_it_is_known(broker: KafkaBroker, kind: str) -> None:
    topic, dead, settings = broker.create_topic(), broker.create_topic(message_timestamp_type=kind), broker.bootstrap
    names = {"topic": topic, "partition": "0", "offset": "7"}
    headers = [(PREFIX + name, text.encode()) for name, text in names.items()]
    with broker.writing() as write:
        write(dead, b"x", timestamp=1_600_000_000_000, headers=headers)
    letters = DeadLetterTopic(dead, {"bootstrap.servers": settings})
    (result,) = letters.replay(letters.newest(1).letters)
    assert result.where == f"{topic}-0@0"
    (replayed,) = DeadLetterTopic(topic, {"bootstrap.servers": settings}).newest(1).letters
    assert (replayed.timestamp == 1_600_000_000_000) is (kind == "CreateTime")


def test_a_replay_without_confirmation_may_have_been_written(
    broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker writes the record, and its response is lost."""
    topic, faulty = broker.create_topic(), FaultyBroker(broker.bootstrap)
    letters = [DeadLetter("dead", 0, 0, value=b"x")]
    # A new broker takes a while for its first producer id.
    assert not DeadLetterTopic("dead", {"bootstrap.servers": broker.bootstrap}).replay(letters, topic)[0].error
    monkeypatch.setattr(brokers, "RESPONSE_TIMEOUT", 1.0)
    port = faulty.listen(Fault(PRODUCE, Damage.SILENT))
    try:
        (result,) = DeadLetterTopic("dead", {"bootstrap.servers": f"127.0.0.1:{port}"}).replay(letters, topic)
    finally:
        faulty.close()
    assert values(broker.bootstrap, topic, 2) == [b"x", b"x"]
    assert "may have been written" in result.error


async def test_missing_settings_are_reported(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "RESPONSE_TIMEOUT", 1.0)
    plain = cluster.source()
    headrace = Console(cluster.url, tmp_path)
    assert "has no dead letter topic" in headrace(f"get deadletters {plain}", code=4).err
    name = cluster.sink("none", **{"errors.deadletterqueue.topic.name": "none-dead", "errors.tolerance": "all",
                                   "errors.deadletterqueue.topic.replication.factor": "1"})  # fmt: skip
    async with console(cluster.url) as seen:
        await seen.go(name)
        await seen.press("d")
        await seen.sees("names no brokers")
        await seen.press("escape")
        await seen.go(plain)
        assert not seen.home.check_action("dead_letters", ()), "a source has no dead letters"
    async with console(cluster.url, bootstrap="127.0.0.1:1", read_only=True) as seen:
        await seen.go(name)
        await seen.press("d")
        await seen.sees("127.0.0.1:1", within=60)
