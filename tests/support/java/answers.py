"""Responses of Apache's worker and ours about plugins, without the differences that are meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from runtime.definitions.common import common_keys
from runtime.definitions.sink import SINK_KEYS
from runtime.definitions.source import SOURCE_KEYS
from tests.support.workers import WorkerProcess

_OUR_TEXTS = {key.doc for key in (*common_keys(), *SOURCE_KEYS, *SINK_KEYS)}
_CHAIN = ("transforms.", "predicates.", "key.converter.", "value.converter.", "header.converter.")

Answer = dict[str, Any]


def different(ours: list[Answer], theirs: list[Answer]) -> str:
    """The fields of keys that differ, by key."""
    pairs = [
        (o["name"], t["name"], k, o.get(k), t.get(k))
        for o, t in zip_longest(ours, theirs, fillvalue={"name": ""})
        for k in {*o, *t}
    ]
    return "\n".join(str(pair) for pair in pairs if pair[3] != pair[4])[:2000]


def listed_plugins(worker: WorkerProcess) -> list[Answer]:
    """All plugins of the worker."""
    status, entries = worker.request("GET", "/connector-plugins?connectorsOnly=false")
    assert status == 200
    return list(entries)


def with_their_texts(found: list[Answer], theirs: list[Answer]) -> list[Answer]:
    """With Apache's texts for the keys of all connectors, which we describe in our own words."""
    known = {key["name"]: key["documentation"] for key in theirs}
    return [{**key, "documentation": _text(key, known)} for key in found]


def _text(key: Answer, known: Mapping[str, Any]) -> str | None:
    ours = key["documentation"] in _OUR_TEXTS or key["name"].startswith(_CHAIN)
    return known.get(key["name"]) if ours else key["documentation"]


def comparable(answer: Answer, theirs: Answer) -> Answer:
    """A validation, with Apache's texts (see `with_their_texts`), without the classes that only one worker has, and
    without keys that have no value, which Headrace omits."""
    valued = [c for c in theirs["configs"] if c["value"] is not None]
    known = {c["value"]["name"]: (c["definition"] or {}).get("documentation") for c in valued}
    configs = []
    for config in answer["configs"]:
        if config["value"] is None:
            continue
        definition, value = config["definition"], dict(config["value"])
        if definition is not None:
            definition = {**definition, "documentation": _text(definition, known)}
        value["recommended_values"] = _recommended(value["recommended_values"])
        if value["name"] == "exactly.once.support":  # in our own words
            value["errors"] = ["" if "exactly-once" in error else error for error in value["errors"]]
        configs.append({"definition": definition, "value": value})
    return {**answer, "configs": configs}


def _recommended(values: list[str]) -> list[str]:
    """Apache's worker names a class once for each location, and does not have ours."""
    return sorted(v for v in Counter(values) if not v.startswith(("headrace.", "org.apache.kafka.connect.tools.")))
