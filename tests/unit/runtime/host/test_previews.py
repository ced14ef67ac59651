"""Previews in their process: the outcome of records in each stage, and plugins that misbehave."""

from __future__ import annotations

import asyncio
import base64
import os
from dataclasses import asdict
from typing import Any

import pytest

from runtime.host.port import HostError
from runtime.host.previews import PreviewFailedError, PreviewHost
from runtime.host.settings import HostSettings
from runtime.model.task_spec import ConverterSpec, TaskSpec
from tests.support.plugins import PLUGINS
from tests.support.processes import alive, command_line, direct_children

K = "org.apache.kafka.connect."
JSON = ConverterSpec(f"{K}json.JsonConverter", {"schemas.enable": "false"})
STRING = ConverterSpec(f"{K}storage.StringConverter")
FOLDERS = [PLUGINS]
TOLERANT = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "letters",
    "errors.deadletterqueue.context.headers.enable": "true",
}


def spec(config: dict[str, str], kind: str = "sink") -> dict[str, Any]:
    header = ConverterSpec(f"{K}storage.SimpleHeaderConverter")
    return asdict(TaskSpec("c", 0, 0, kind, "m:T", config, STRING, JSON, header, plugin_path=FOLDERS))


def chain(**steps: dict[str, str]) -> dict[str, str]:
    keys = {f"transforms.{alias}.{key}": text for alias, own in steps.items() for key, text in own.items()}
    return {"transforms": ",".join(steps), **keys}


def bad(how: str, when: str = "") -> dict[str, str]:
    return {"type": "headrace_test_transforms.Misbehaving", "how": how, "when": when}


MASK = {"type": f"{K}transforms.MaskField$Value", "fields": "ssn"}
DROP = {"type": "Filter", "predicate": "tombstone"}
TOMBSTONE = {"predicates": "tombstone", "predicates.tombstone.type": f"{K}transforms.predicates.RecordIsTombstone"}


def message(value: bytes | None, offset: int = 0) -> dict[str, Any]:
    encoded = None if value is None else base64.b64encode(value).decode()
    place = {"topic": "t", "partition": 0, "offset": offset, "timestamp": 1}
    return {**place, "key": None, "value": encoded, "headers": []}


async def ask(
    config: dict[str, str], *values: bytes | None, now: dict[str, str] | None = None, limit: float = 60.0
) -> dict[str, Any]:
    samples = [message(value, offset) for offset, value in enumerate(values)]
    request = {"spec": spec(config), "now": None if now is None else spec(now), "samples": samples, "produced": False}
    return await PreviewHost(HostSettings(), limit).preview(request)


async def test_the_outcome_of_each_record_and_its_reason() -> None:
    config = {**chain(drop=DROP, mask=MASK), **TOMBSTONE, **TOLERANT}
    found = await ask(config, b'{"ssn":"1-2","n":[1]}', None, b"{", b'{"n":2}', b'"text"', now=TOLERANT)
    assert found["summary"] == {
        "records": 5, "changed": 2, "unchanged": 0, "dropped": 1, "skipped": 0, "dead_letter": 2, "fails": 0,
        "unreadable": 0, "differs": 4,
    }  # fmt: skip
    masked, dropped, broken, without, text = found["records"]
    assert (masked["result"], masked["by"]) == ("CHANGED", "mask")
    assert masked["stages"][1]["changes"] == [{"at": "value.ssn", "before": "1-2", "after": ""}]
    assert masked["differs"] == [{"at": "record.value.ssn", "before": "1-2", "after": ""}]
    assert masked["after"]["value"] == {"ssn": "", "n": [1]}
    assert (dropped["result"], dropped["by"], dropped["now"]["result"]) == ("DROPPED", "drop (tombstone)", "UNCHANGED")
    assert (broken["error"]["stage"], broken["differs"]) == ("VALUE_CONVERTER", [])
    assert [stage["applied"] for stage in without["stages"]] == [False, True]
    assert without["differs"] == [{"at": "record.value.ssn", "after": None}]  # as in Java
    assert (text["result"], text["error"]["alias"], text["dead_letter"]["topic"]) == ("DEAD_LETTER", "mask", "letters")
    assert text["dead_letter"]["headers"]["__connect.errors.stage"] == "TRANSFORMATION"


async def test_records_that_a_source_would_write() -> None:
    hoist = {"type": f"{K}transforms.HoistField$Value", "field": "line"}
    record = {"topic": "t", "key": None, "headers": [["h", 1]], "timestamp": None}
    place = {"source_partition": {"file": "a"}, "source_offset": None}
    samples = [{**record, **place, "value": value} for value in ("a line", 2**40)]
    request = {"spec": spec(chain(hoist=hoist), "source"), "now": None, "samples": samples, "produced": False}
    found = await PreviewHost(HostSettings()).preview(request)
    first, second = found["records"]
    assert first["after"]["value_schema"] == "struct {line: string}"
    written = {"topic": "t", "partition": None, "key": None, "value": '{"line":"a line"}', "headers": {"h": "1"}}
    assert first["kafka"] == written
    assert (second["after"]["value"], second["after"]["value_schema"]) == ({"line": 2**40}, None)


@pytest.mark.parametrize(
    ("how", "result", "by"),
    [
        ("raise", "SKIPPED", "m: not this one"),
        ("garbage", "SKIPPED", "m: apply() returned 'no record' instead of a record"),
        ("exit", "FAILS", "m: 3"),
        ("nest", "CHANGED", "m"),
    ],
)
async def test_plugins_that_misbehave_with_one_record(how: str, result: str, by: str) -> None:
    found = await ask({**chain(m=bad(how, "2")), "errors.tolerance": "all"}, b'"1"', b'"2"', b'"3"')
    assert [(r["result"], r["by"]) for r in found["records"]] == [("UNCHANGED", ""), (result, by), ("UNCHANGED", "")]


async def test_plugins_that_end_the_preview() -> None:
    """Runs them concurrently, since each takes its whole time limit. None leaves a process behind."""
    where = "transforms.m (headrace_test_transforms.Misbehaving), record 1"
    values = b'"1"', b'"2"'
    answers: list[object] = await asyncio.gather(
        ask(chain(m=bad("block", "2")), *values, limit=4),
        ask(chain(m=bad("kill", "2")), *values),
        ask(chain(m=bad("configure")), *values),
        ask(chain(m=bad("close")), *values),
        return_exceptions=True,
    )
    blocked, killed, refused, closed = answers
    assert isinstance(blocked, PreviewFailedError)
    assert str(blocked) == f"The preview did not end within 4 s; it was in {where}"
    assert isinstance(killed, PreviewFailedError)
    assert str(killed) == f"The preview's process died (exit code 7) in {where}"
    assert isinstance(refused, HostError)
    assert refused.message == "every configuration is refused"
    assert isinstance(closed, dict)
    assert closed["warnings"] == [
        f"close() of {where.partition(',')[0]} raised RuntimeError('close() fails as configured')"
    ]
    ours = [pid for pid in direct_children(os.getpid()) if alive(pid)]
    assert not [pid for pid in ours if "runtime.host.server" in command_line(pid)]
