"""Random configurations of connectors, valid and invalid, and changes to them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tests.contract.parity.names import HOIST, JSON, SINK, SOURCE, STATIC, STRING, STRING_VALUES, TRANSFORMS, chain
from tests.soak.sequences.operation import FOLDER, ID
from tests.soak.sequences.plugin import changes

BAD = f"{ID}-bad"
"""A topic of messages that are no JSON. Only sinks with one task read it: which offsets several tasks commit until each
of them has failed depends on rebalances."""
_ONE_TASK = {"topics": f"{ID}-t0", "tasks.max": "1", "count": "1"}
TOPICS = (f"{ID}-t0", f"{ID}-t1", f"{ID}-s0")
FILES = ("f0", "f1")

_SOURCE_TOPICS = (f"{ID}-t0", f"{ID}-s0", f"{ID}-s0", f"{ID}-new")
"""With one partition each: keys decide on no partition, and both sides choose others."""

Config = dict[str, Any]

_SOURCES = (SOURCE, SOURCE, "FileStreamSource", "FileStreamSourceConnector")
_SINKS = (SINK, SINK, "FileStreamSink", "FileStreamSinkConnector")
_JAVA_SOURCE, _JAVA_SINK = "steps.StepSource", "steps.StepSink"
_SOURCE_MORE: Sequence[tuple[int, Config]] = (
    (10, {}),
    (2, chain(HOIST)),
    (1, chain(HOIST, STATIC)),
    (2, STRING_VALUES),
    (2, {**chain(HOIST), "transforms.h.predicate": "none"}),
    (2, {"topic.creation.default.replication.factor": "0", "topic.creation.default.partitions": "1"}),
    (1, {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "3"}),
    (1, {"batch.size": "100"}),
    (1, {"own.key": "value", "other": "ü"}),
    (1, {"errors.tolerance": "all", "errors.log.enable": "true"}),
    (1, {"value.converter": JSON, "value.converter.schemas.enable": "true"}),
    (1, {"config.action.reload": "none"}),
)  # fmt: skip
_SINK_MORE: Sequence[tuple[int, Config]] = (
    (10, {}),
    (3, STRING_VALUES),
    (2, {"errors.tolerance": "all"}),
    (1, {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"{ID}-dead"}),
    (2, {"file": f"{FOLDER}/missing/k.out"}),
    (1, chain(HOIST)),
    (1, {"key.converter": STRING, "own.key": "1"}),
)
_WRONG: Sequence[Config] = (
    {"connector.class": None}, {"connector.class": ""}, {"connector.class": ...}, {"connector.class": "com.example.No"},
    {"connector.class": STRING}, {"topic": ..., "topics": ...}, {"topic": "", "topics": ""}, {"tasks.max": "0"},
    {"tasks.max": "x"}, {"tasks.max": None}, {"tasks.max": ""}, {"tasks.max": 2}, {"tasks.max": 1.5},
    {"tasks.max": True}, {"tasks.max": "99999999999"}, {"tasks.max": [1]}, {"tasks.max": {}}, {"own": None},
    {"errors.tolerance": "some"}, {"errors.tolerance": "ALL"}, {"key.converter": "No"}, {"value.converter": SOURCE},
    {"header.converter": ""}, {"transforms": "a"}, {"transforms": "a,a"},
    {"transforms": "a", "transforms.a.type": "No"}, {"transforms": "a", "transforms.a.type": "HoistField"},
    {"transforms": "a", "transforms.a.type": "RegexRouter"}, {"predicates": "p"}, {"batch.size": "x"},
    {"transforms": "h", "transforms.h.type": TRANSFORMS + "HoistField$Value", "transforms.h.field": "l",
     "transforms.h.negate": "true"},
    {"topics.regex": "x.*"}, {"topics.regex": "["}, {"topics": f"{ID}-t0", "topics.regex": "a"}, {"topics": ","},
    {"topics": "a b"}, {"errors.deadletterqueue.topic.name": f"{ID}-t0", "topics": f"{ID}-t0"},
    {"config.action.reload": "no"}, {"errors.retry.timeout": "-2"}, {"errors.retry.timeout": "-1"},
    {"exactly.once.support": "required"}, {"transaction.boundary": "connector"}, {"": "x"}, {" ": " "},
    {"connector.plugin.version": "9"}, {"connector.plugin.version": "latest"}, {"tasks.max.enforce": "maybe"},
    {"topic.creation.groups": "g"}, {"topic.creation.default.partitions": "0"},
    {"topic.creation.default.replication.factor": "1"}, {"name": ""}, {"name": None}, {"name": f" {ID}-a "},
    {"name": f"{ID}-other"}, {"key.converter.plugin.version": "1"}, {"errors.log.enable": "yes"},
    {"offsets.storage.topic": ""}, {"transaction.boundary.interval.ms": "0"},
)  # fmt: skip
_PATCHES: Sequence[Config] = (
    {}, {"tasks.max": "2"}, {"tasks.max": "3"}, {"tasks.max": 1}, {"own": "1"}, {"own": 1}, {"own": False},
    {"own": None}, {"own": ""}, {"own": "ü\u2028😀\\\"\n"}, {"file": None}, {"file": f"{FOLDER}/f1.txt"},
    {"name": "other"}, {"name": None}, {"topic": f"{ID}-s0"}, {"topics": f"{ID}-t1"},
    {"topics": f"{ID}-t0,{ID}-t1"}, {"topics": BAD, "tasks.max": "1"},
    {"topics": None, "topics.regex": f"{ID}-t.*"}, {"topics.regex": None},
    STRING_VALUES, {"value.converter": None}, {"errors.tolerance": "all"}, {"transforms": None},
    {"topic.creation.default.replication.factor": None, "topic.creation.default.partitions": None},
    {"transforms.h.predicate": None}, {"none": None, "nothing": None},
)  # fmt: skip


def source(rng: random.Random, java: float = 0.2) -> Config:
    """`java`: the share of connectors in Java."""
    if rng.random() < java:
        return {"connector.class": _JAVA_SOURCE, "tasks.max": "3", "topic": rng.choice(_SOURCE_TOPICS), **changes(rng)}
    return {
        "connector.class": rng.choice(_SOURCES), "tasks.max": rng.choice(("1", "1", "3")),
        "file": f"{FOLDER}/{rng.choice(FILES)}.txt", "topic": rng.choice(_SOURCE_TOPICS), **_more(rng, _SOURCE_MORE),
    }  # fmt: skip


def sink(rng: random.Random, number: int, java: float = 0.2) -> Config:
    """`number`: of its file; `java`: the share of connectors in Java."""
    topics = rng.choice((
        {"topics": TOPICS[0]}, {"topics": TOPICS[1]}, {"topics": ",".join(TOPICS)}, {"topics.regex": f"{ID}-t.*"},
        {"topics": TOPICS[2]},
        {"topics": f"{ID}-missing"},
    ))  # fmt: skip
    if rng.random() < java:
        failing = changes(rng)
        if "task.put" in failing.get("fails", ""):
            failing |= _ONE_TASK
        return {"connector.class": _JAVA_SINK, "tasks.max": "2", **topics, **failing}
    if rng.random() < 0.15:
        return {"connector.class": SINK, "file": f"{FOLDER}/k{number}.out", **_ONE_TASK, "topics": BAD}
    own = {"connector.class": rng.choice(_SINKS), "tasks.max": rng.choice(("1", "1", "2", "3"))}
    return {**own, "file": f"{FOLDER}/k{number}.out", **topics, **_more(rng, _SINK_MORE)}


def wrong(rng: random.Random, config: Config) -> Config:
    """The configuration with a change that a worker may refuse; `...` in the table removes a key."""
    changed = {**config, **rng.choice(_WRONG)}
    return {key: value for key, value in changed.items() if value is not ...}


def patch(rng: random.Random) -> Config:
    changed = rng.choice(_PATCHES) if rng.random() < 0.7 else rng.choice(_WRONG)
    return {key: None if value is ... else value for key, value in changed.items()}


def _more(rng: random.Random, table: Sequence[tuple[int, Config]]) -> Config:
    weights, choices = [weight for weight, _ in table], [more for _, more in table]
    return rng.choices(choices, weights)[0]
