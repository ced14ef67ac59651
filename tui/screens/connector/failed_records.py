"""Records that failed and did not end the task: how many, at which stage, and the newest of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from textual.content import Content

from tui.formatting import counted, one_line
from tui.widgets.text import visible

SHOWN = 8  # kinds of failures, the newest
ALIKE = ("task", "stage", "message", "cause")
Json = Any
Part = str | Content | tuple[str, str]
WORDS = {
    "skipped": "skipped",
    "dead_letters": "put aside as dead letters",
    "dead_letter_failures": "not even put aside",
    "retries": "tries again",
}


def content(answer: Json) -> Content:
    """From `GET /connectors/NAME/errors`; empty where nothing failed."""
    total = (answer or {}).get("total") or {}
    if not any(total.values()):
        return Content("")
    failed = counted(int(total.get("failed") or 0), "record")
    rest = [f"{int(total[key]):,} {word}" for key, word in WORDS.items() if total.get(key)]
    since = time.strftime("%m-%d %H:%M", time.localtime(int(answer.get("since") or 0) / 1000))
    parts: list[Part] = [
        (f"\nrecords that failed since {since}\n", "bold $accent"),
        (f"{failed} failed", "bold $error" if total.get("failed") else ""),
        "".join(f", {text}" for text in rest),
        "\n",
    ]
    stages = answer.get("stages") or {}
    parts += [_stage(name, counts) for name, counts in stages.items()]
    parts += [_record(one, times) for one, times in folded(answer.get("last") or ())[:SHOWN]]
    return Content.assemble(*parts)


def folded(last: Sequence[Mapping[str, Json]]) -> list[tuple[Mapping[str, Json], int]]:
    """The newest of those that failed alike, and how many they are."""
    found: dict[tuple[str, ...], list[Mapping[str, Json]]] = {}
    for one in last:
        found.setdefault(tuple(str(one.get(key, "")) for key in ALIKE), []).append(one)
    return [(alike[0], len(alike)) for alike in found.values()]


def _stage(name: str, counts: Mapping[str, Json]) -> Content:
    said = [f"{int(number):,} {what.replace('_', ' ')}" for what, number in counts.items() if number]
    return Content.assemble((f"  {visible(name)}: ", "$text-muted"), ", ".join(said), "\n")


def _place(one: Mapping[str, Json]) -> str:
    """`t1-0@17`; for a source's record only the topic, until the record is written."""
    partition, offset = one.get("partition"), one.get("offset")
    text = f"{one['topic']}" if partition is None else f"{one['topic']}-{partition}"
    return text if offset is None else f"{text}@{offset}"


def _record(one: Mapping[str, Json], times: int) -> Content:
    at = time.strftime("%H:%M:%S", time.localtime(int(one.get("time") or 0) / 1000))
    where = f" {_place(one)}" if one.get("topic") else ""
    said = f"{one.get('message', '')}" + (f" ({one['cause']})" if one.get("cause") else "")
    message = one_line(said)
    return Content.assemble(
        (f"{at} ", "$text-muted"),
        (visible(f"task {one.get('task')}{where} {one.get('stage', '')}: "), "$text-muted"),
        (visible(message), "$error"),
        (f"  ×{times}" if times > 1 else "", "bold"),
        "\n",
    )
