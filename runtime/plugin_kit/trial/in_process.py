"""Runs a plugin in this process, with the worker's converters and transformations and without Kafka."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from runtime.api.connector import Connector, SinkConnector, SourceConnector
from runtime.api.data.record import SourceRecord, TopicPartition
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.load import load_converter, load_converters, load_steps
from runtime.pipeline.preview.samples import SampleMessage
from runtime.pipeline.preview.trace import Tracer
from runtime.pipeline.sink.convert_sink import SinkConversion, sink_place
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.task.failure import message_of
from runtime.pipeline.tolerance import Policy, Tolerance
from runtime.plugin_kit.conformance.connector_run import SinkRun, SourceRun, task_configs
from runtime.plugin_kit.conformance.contexts import KitReporter
from runtime.plugin_kit.trial.request import TrialRequest
from runtime.plugin_kit.trial.screen import Screen, as_json, offset_text

DONE, FAILED = 0, 1
_IDLE = 3.0  # seconds without a record after which a source has delivered everything


def run(request: TrialRequest, screen: Screen) -> int:
    """Shows records until the limit, the end of the input, or ^C. Returns the exit code."""
    connector = request.connector
    if connector is None:
        return _run_chain(request, screen)
    if issubclass(connector, SourceConnector):
        return _run_source(request, connector, screen)
    assert issubclass(connector, SinkConnector)
    return _run_sink(request, connector, screen)


def _run_source(request: TrialRequest, connector: type[SourceConnector], screen: Screen) -> int:
    task = _only_task(connector, request.config)
    tracer = Tracer(request.spec(task), lambda position: None)
    limit = request.limit or 1
    with SourceRun(connector, task) as source:
        last = time.monotonic()
        while screen.number < limit:
            records = source.poll()
            for record in records[: limit - screen.number]:
                if not _show(tracer, record, screen):
                    return FAILED
            if records:
                last = time.monotonic()
            elif time.monotonic() - last > _IDLE:
                screen.say(f"No more records within {_IDLE:.0f} s.")
                return DONE
            else:
                time.sleep(0.05)
    return DONE


def _only_task(connector: type[Connector], config: Mapping[str, str]) -> Mapping[str, str]:
    """One task for everything, since no others run beside it."""
    return task_configs(connector, {**config, "tasks.max": "1"})[0]


def _show(tracer: Tracer, record: SourceRecord, screen: Screen) -> bool:
    """Shows a record as it would be written to Kafka. False if the task would fail."""
    origin = offset_text(record.source_partition, record.source_offset)
    trace = tracer.source(record)
    after = trace["after"] or trace["before"]
    screen.record(after["topic"], after["key"], after["value"], origin)
    return _show_result(trace, screen)


def _show_result(trace: Mapping[str, Any], screen: Screen) -> bool:
    result = trace["result"]
    if result in ("CHANGED", "UNCHANGED"):
        return True
    screen.detail(f"{result.lower().replace('_', ' ')}: {trace.get('by', 'by the transformations')}")
    return bool(result != "FAILS")


def _run_chain(request: TrialRequest, screen: Screen) -> int:
    """Transformations and converters without a connector: the input, and what it becomes."""
    tracer = Tracer(request.spec(), lambda position: None)
    for value in request.values():
        trace = tracer.source(SourceRecord(None, None, request.topic, value))
        screen.record("input", None, value, "")
        if not _show_result(trace, screen):
            continue
        if trace["after"] is not None and trace["after"]["value"] != trace["before"]["value"]:
            screen.detail(f"becomes {as_json(trace['after']['value'])}")
        if trace["kafka"] is not None:
            data = trace["kafka"]["value"]
            screen.detail(f"in Kafka: {'null' if data is None else data}")
    for trouble in tracer.close():
        screen.say(trouble)
    return DONE


def _run_sink(request: TrialRequest, connector: type[SinkConnector], screen: Screen) -> int:
    spec = request.spec()
    policy = Policy.of(spec.settings)
    reporter = KitReporter() if policy.log or spec.settings.get("errors.deadletterqueue.topic.name") else None
    tolerance = Tolerance(policy, str(spec.id), TaskControl(False, lambda: None))
    chain = Chain(load_steps(spec), tolerance, sink_place)
    conversion = SinkConversion(load_converters(spec), chain, tolerance)
    to_bytes = load_converter(spec.value_converter, False, spec).from_connect
    partition = TopicPartition(request.topic, 0)
    with SinkRun(connector, _only_task(connector, request.config), reporter) as sink:
        for offset, value in enumerate(request.values()):
            screen.record(request.topic, None, value, f"offset {offset}")
            try:
                data = to_bytes(request.topic, None, value)
                message = SampleMessage(request.topic, 0, offset, int(time.time() * 1000), None, data)
                records, _ = conversion.convert([message], {partition})
                sink.put(list(records))
            except Exception as error:  # third-party code; the task would fail
                screen.detail(f"{type(error).__name__}: {message_of(error.__cause__ or error)}; the task would fail")
                return FAILED
            screen.detail(_sink_result(len(records), reporter))
        offsets = sink.commit()
        screen.say(f"Committed offset {offsets.get(partition, 0)}.")
    chain.close()
    return DONE


def _sink_result(count: int, reporter: KitReporter | None) -> str:
    if not count:
        return "dropped or skipped before it reached the task"
    if reporter is not None and reporter.reports:
        [(_, error)] = reporter.reports
        reporter.reports.clear()
        return f"reported: {error}"
    return "put"
