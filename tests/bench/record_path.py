"""Throughput of the record path without Kafka: conversion and transformation of batches, in this process.

python -m tests.bench.record_path [--records 200000]
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

from runtime.api.converter import Converter
from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition
from runtime.api.data.schema import STRING_SCHEMA
from runtime.connectors.file_source import FileStreamSourceTask
from runtime.converters.header import SimpleHeaderConverter
from runtime.converters.json.json import JsonConverter
from runtime.converters.string import StringConverter
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.load import Converters
from runtime.pipeline.sink.convert_sink import SinkConversion, sink_place
from runtime.pipeline.source.convert_source import SourceConversion, source_place
from runtime.pipeline.source.source_offsets import CommittedOffsets
from tests.support.tasks.python_messages import Message
from tests.support.tasks.transforms import tolerance, transformation

_BATCH = 2000
_FORMAT, _TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSX", b"2023-11-05T10:11:12.123Z"


def _json(schemas: bool) -> JsonConverter:
    converter = JsonConverter()
    converter.configure({"schemas.enable": str(schemas).lower()}, False)
    return converter


def _three() -> list[ChainStep]:
    return [
        ChainStep(transformation("HoistField$Value", {"field": "line"})),
        ChainStep(transformation("InsertField$Value", {"static.field": "source", "static.value": "bench"})),
        ChainStep(transformation("ReplaceField$Value", {"renames": "line:text"})),
    ]


def _measure(name: str, records: int, run: Callable[[], Any]) -> None:
    best = min(_timed(run) for _ in range(3))
    print(f"{name:45} {records / best:12,.0f} rec/s  {best / records * 1e6:6.2f} µs")


def _timed(run: Callable[[], Any]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def _source(steps: list[ChainStep], converter: Converter, records: int) -> Callable[[], None]:
    errors = tolerance()
    chain = Chain(steps, errors, source_place)
    converters = Converters(converter, converter, SimpleHeaderConverter())
    conversion = SourceConversion(chain, converters, CommittedOffsets("c", []), errors, FileStreamSourceTask())
    partition = {"filename": "f"}
    line = "x" * 98

    def run() -> None:
        for start in range(0, records, _BATCH):
            batch = [
                SourceRecord(partition, {"position": n}, "t", line, STRING_SCHEMA, None, None, None, 1)
                for n in range(start, start + _BATCH)
            ]
            conversion.convert(batch)

    return run


def _sink(
    steps: list[ChainStep], converter: Converter, value: bytes, records: int, topics: str = "t"
) -> Callable[[], None]:
    errors = tolerance()
    converters = Converters(converter, converter, SimpleHeaderConverter())
    conversion = SinkConversion(converters, Chain(steps, errors, sink_place), errors)
    assigned = {TopicPartition(topic, 0) for topic in topics}
    messages = [Message(n, value, _topic=topics[n % len(topics)]) for n in range(_BATCH)]

    def run() -> None:
        for _ in range(0, records, _BATCH):
            found: tuple[Sequence[SinkRecord], Any] = conversion.convert(messages, assigned)
            assert len(found[0]) == _BATCH

    return run


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--records", type=int, default=200_000)
    records = arguments.parse_args().records
    gc.set_threshold(100_000, 50, 100)  # as in a slot
    line = b"x" * 98
    plain = b'{"line":"%s","n":12,"ok":true}' % line[:70]
    envelope = _json(True).from_connect("t", STRING_SCHEMA, line.decode())
    assert envelope is not None
    extracted = [
        ChainStep(transformation("InsertField$Value", {"static.field": "source", "static.value": "bench"})),
        ChainStep(transformation("ReplaceField$Value", {"renames": "line:text"})),
        ChainStep(transformation("ExtractField$Value", {"field": "text"})),
    ]
    router = [
        ChainStep(transformation("TimestampRouter", {})),
        ChainStep(transformation("InsertHeader", {"header": "h", "value.literal": "17"})),
    ]
    _measure("source, String", records, _source([], StringConverter(), records))
    _measure("source, JSON with schemas", records, _source([], _json(True), records))
    _measure("source, JSON with schemas, 3 SMTs", records, _source(_three(), _json(True), records))
    _measure("source, JSON without schemas, 3 SMTs", records, _source(_three(), _json(False), records))
    _measure("source, String, TimestampRouter, InsertHeader", records, _source(router, StringConverter(), records))
    _measure("sink, String", records, _sink([], StringConverter(), line, records))
    _measure("sink, JSON without schemas", records, _sink([], _json(False), plain, records))
    _measure("sink, JSON without schemas, 3 SMTs", records, _sink(extracted, _json(False), plain, records))
    _measure("sink, JSON with schemas", records, _sink([], _json(True), envelope, records))
    _measure("sink, JSON with schemas, 3 SMTs", records, _sink(_three(), _json(True), envelope, records))
    _measure("sink, JSON without schemas, router, header", records, _sink(router, _json(False), plain, records))
    _measure("sink, JSON, 3 SMTs, two topics", records, _sink(_three(), _json(True), envelope, records, "tv"))
    times = [
        ChainStep(transformation("TimestampConverter$Value", {"field": "at", "target.type": "unix", "format": _FORMAT}))
    ]
    _measure(
        "sink, JSON without schemas, times read", records, _sink(times, _json(False), b'{"at":"%s"}' % _TIME, records)
    )


if __name__ == "__main__":
    main()
