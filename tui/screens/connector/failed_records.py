"""Failed records that did not stop the task: counts, stages, and the newest of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from textual.content import Content

from tui.formatting import counted, one_line, short_time
from tui.widgets.text import visible

MAX_SHOWN = 8  # distinct failures, the newest
SAME_FAILURE = ("task", "stage", "message", "cause")
Json = Any
Part = str | Content | tuple[str, str]
WORDS = {
    "skipped": "skipped",
    "dead_letters": "sent to the dead letter topic",
    "dead_letter_failures": "failed to reach the dead letter topic",
    "retries": "retries",
}


def content(response: Json) -> Content:
    """The response of `GET /connectors/NAME/errors` as text; empty if no record failed."""
    total = (response or {}).get("total") or {}
    if not any(total.values()):
        return Content("")
    failed = counted(int(total.get("failed") or 0), "record")
    rest = [f"{int(total[key]):,} {word}" for key, word in WORDS.items() if total.get(key)]
    since = time.strftime("%m-%d %H:%M", time.localtime(int(response.get("since") or 0) / 1000))
    parts: list[Part] = [
        (f"\nrecords failed since {since}\n", "bold $accent"),
        (f"{failed} failed", "bold $error" if total.get("failed") else ""),
        "".join(f", {text}" for text in rest),
        "\n",
    ]
    stages = response.get("stages") or {}
    parts += [_stage(name, counts) for name, counts in stages.items()]
    parts += [_record(failure, times) for failure, times in folded(response.get("last") or ())[:MAX_SHOWN]]
    return Content.assemble(*parts)


def folded(last: Sequence[Mapping[str, Json]]) -> list[tuple[Mapping[str, Json], int]]:
    """The newest record of each distinct failure, and their number."""
    groups: dict[tuple[str, ...], list[Mapping[str, Json]]] = {}
    for failure in last:
        groups.setdefault(tuple(str(failure.get(key, "")) for key in SAME_FAILURE), []).append(failure)
    return [(alike[0], len(alike)) for alike in groups.values()]


def _stage(name: str, counts: Mapping[str, Json]) -> Content:
    counted_texts = [f"{int(number):,} {outcome.replace('_', ' ')}" for outcome, number in counts.items() if number]
    return Content.assemble((f"  {visible(name)}: ", "$text-muted"), ", ".join(counted_texts), "\n")


def _place(failure: Mapping[str, Json]) -> str:
    """For example `t1-0@17`; for a record of a source only the topic, until the record is written."""
    partition, offset = failure.get("partition"), failure.get("offset")
    text = f"{failure['topic']}" if partition is None else f"{failure['topic']}-{partition}"
    return text if offset is None else f"{text}@{offset}"


def _record(failure: Mapping[str, Json], times: int) -> Content:
    at = short_time(int(failure.get("time") or 0) / 1000)
    where = f" {_place(failure)}" if failure.get("topic") else ""
    text = f"{failure.get('message', '')}" + (f" ({failure['cause']})" if failure.get("cause") else "")
    message = one_line(text)
    return Content.assemble(
        (f"{at} ", "$text-muted"),
        (visible(f"task {failure.get('task')}{where} {failure.get('stage', '')}: "), "$text-muted"),
        (visible(message), "$error"),
        (f"  ×{times}" if times > 1 else "", "bold"),
        "\n",
    )
