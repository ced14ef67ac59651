"""Runs a preview: sample records through the requested chain, and through the current one for comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.model.environment import Environment
from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.pipeline.preview.render import changes
from runtime.pipeline.preview.samples import SampleMessage, produced_record, source_record
from runtime.pipeline.preview.trace import At, Shown, Tracer, message_json
from runtime.plugins.activation import enter

_CONVERTERS = ("key_converter", "value_converter", "header_converter")


def preview(request: Mapping[str, Any], at: At) -> dict[str, Any]:
    """The response of a preview. `request` holds the `spec` to try, the current spec as `now` (None: no comparison),
    `samples`, and whether samples of a source were `produced` (bytes of a topic) or are given as data. Raises the
    exceptions of plugins during configure()."""
    spec = spec_from_json(request["spec"])
    enter(spec.environment)
    tracer = Tracer(spec, at)
    traces = _all(tracer, request)
    warnings: list[str] = []
    if request["now"] is not None:
        warnings += _compared(traces, request, at)
    response = {"summary": _summary(traces), "stages": tracer.stages(), "records": traces}
    return {**response, "warnings": warnings + tracer.close()}


def _all(tracer: Tracer, request: Mapping[str, Any]) -> list[Shown]:
    trace = _way(tracer, request)
    traces = []
    for tracer.number, sample in enumerate(request["samples"]):
        traces.append(trace(sample))
    return traces


def _way(tracer: Tracer, request: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Shown]:
    if request["spec"]["type"] == "sink":
        return lambda sample: tracer.sink(SampleMessage.of(sample))
    if not request["produced"]:
        return lambda sample: tracer.source(source_record(sample))
    converters = Tracer(spec_from_json(request["now"] or request["spec"]), lambda what: None).converters

    def trace(sample: Mapping[str, Any]) -> Shown:
        message = SampleMessage.of(sample)
        try:
            record = produced_record(message, converters)
        except Exception as error:  # third-party code
            by = f"the connector's converters cannot read the record: {error}"
            return {"before": message_json(message), "after": None, "stages": [], "result": "UNREADABLE", "by": by}
        return tracer.source(record)

    return trace


def _compared(traces: Sequence[Shown], request: Mapping[str, Any], at: At) -> list[str]:
    """Adds the result of the current chain and the differences to each trace. Returns warnings."""
    try:
        now = _all(Tracer(spec_from_json(request["now"]), at), request)
    except Exception as error:  # third-party code
        return [f"The current chain cannot be created, so there is no comparison: {error}"]
    for trace, other in zip(traces, now, strict=True):
        trace["now"] = {key: other[key] for key in ("result", "by", "error", "after") if key in other}
        then, before = _essence(trace), _essence(other)
        trace["differs"] = [c for c in changes(before, then) if c["at"] != "record"]
    return []


def _essence(trace: Shown) -> Shown:
    """The part of a trace that is compared: the result and the record."""
    passed = trace["result"] in ("CHANGED", "UNCHANGED")
    if not passed:
        return {"result": trace["result"]}
    essence = {"result": "PASSES", "record": trace["after"]}
    return {**essence, "more": trace["more"]} if "more" in trace else essence


def _summary(traces: Sequence[Shown]) -> dict[str, int]:
    counted = Counter(trace["result"] for trace in traces)
    summary = {"records": len(traces)}
    for result in ("CHANGED", "UNCHANGED", "DROPPED", "SKIPPED", "DEAD_LETTER", "FAILS", "UNREADABLE"):
        summary[result.lower()] = counted[result]
    if any("now" in trace for trace in traces):
        summary["differs"] = sum(1 for trace in traces if trace.get("differs"))
    return summary


def spec_from_json(data: Mapping[str, Any]) -> TaskSpec:
    """The parts of a specification that a preview needs."""
    environment = Environment.from_json(data["environment"])
    converters = {name: ConverterSpec(**data[name]) for name in _CONVERTERS}
    return TaskSpec(**{**data, **converters, "environment": environment})
