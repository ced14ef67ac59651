"""Random bodies for changes of offsets."""

from __future__ import annotations

import random
from typing import Any

from tests.soak.sequences.configs import FILES, TOPICS
from tests.soak.sequences.operation import FOLDER, ID

_SHAPES = (
    "{}", "[]", "null", '"x"', "", "{", '{"offsets":null}', '{"offsets":[]}', '{"offsets":{}}', '{"offsets":[null]}',
    '{"offsets":[[]]}', '{"offsets":["x"]}', '{"offsets":[{}]}', '{"offset":[]}', '{"offsets":[{"partition":1}]}',
    '{"offsets":[{"offset":null}]}', '{"offsets":[{"partition":{},"offset":{}}]}',
    '{"offsets":[{"partition":{"filename":"x"},"offset":{"position":1},"more":1}]}',
    '{"offsets":[{"partition":{"filename":"x"},"offset":{"position":1}}],"more":1}',
    '{"offsets":[{"partition":{"filename":"x"},"offset":null}]} x',
)  # fmt: skip
_POSITIONS: tuple[Any, ...] = (0, 0, 3, 5, 100_000, -1, 1.5, 1.0, "3", None, True, 2**63 - 1, 2**63, [1], {})
_NUMBERS: tuple[Any, ...] = (0, 0, 1, 2, "0", "1", 100_000, -1, "-1", 1.5, "x", "", None, True, 2**63, 2**31, " 1", [0])
_PARTITIONS: tuple[Any, ...] = (0, 0, 0, 1, "0", "1", 7, -1, 0.5, "x", None, True, 2**31, {})
_SINK_TOPICS: tuple[Any, ...] = (*TOPICS, *TOPICS, *TOPICS, f"{ID}-missing", "", None, 5, "a b", "x" * 300)


def offsets_body(rng: random.Random, kind: str) -> str | dict[str, Any]:
    """A body as text, or as a value. `kind`: of the connector, source or sink."""
    if rng.random() < 0.25:
        return rng.choice(_SHAPES)
    kind = kind if rng.random() < 0.93 else rng.choice(("source", "sink"))
    entry = _source if kind == "source" else _sink
    entries = [entry(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    if rng.random() < 0.1:
        entries.append(entries[0])
    return {"offsets": entries}


def _source(rng: random.Random) -> dict[str, Any]:
    file = {"filename": f"{FOLDER}/{rng.choice(FILES)}.txt"}
    partition = _usually(rng, file, (
        None, {}, {"filename": None}, {"filename": 5}, {"file": "x"}, {"filename": "x"}, {**file, "more": 1.5},
    ))  # fmt: skip
    position = rng.choice(_POSITIONS) if rng.random() < 0.4 else rng.choice((0, 3, 4))
    offset = _usually(rng, {"position": position}, (None, None, None, {}, {"pos": 1}, {"position": 2, "ü": "ü"}))
    return {"partition": partition, "offset": offset}


def _sink(rng: random.Random) -> dict[str, Any]:
    partition = {
        "kafka_topic": _usually(rng, TOPICS[0], _SINK_TOPICS), "kafka_partition": _usually(rng, 0, _PARTITIONS),
    }  # fmt: skip
    partition = _usually(rng, partition, (
        None, {}, {"kafka_topic": TOPICS[0]}, {"kafka_partition": 0}, {**partition, "more": "x"},
    ))  # fmt: skip
    offset = _usually(rng, {"kafka_offset": _usually(rng, 1, _NUMBERS)}, (
        None, None, None, {}, {"offset": 1}, {"kafka_offset": 2, "more": []},
    ))  # fmt: skip
    return {"partition": partition, "offset": offset}


def _usually(rng: random.Random, value: Any, others: tuple[Any, ...]) -> Any:
    return value if rng.random() < 0.65 else rng.choice(others)
