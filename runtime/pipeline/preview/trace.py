"""Traces a record through converters and transformations, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.data.record import SinkRecord, SourceRecord, stamp_of
from runtime.api.errors import DataError, RetriableError
from runtime.api.transformation import BatchTransformation, Transformation
from runtime.config.properties import comma_separated
from runtime.model.task_spec import TaskSpec
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.load import Converters, load_converters, load_steps
from runtime.pipeline.preview.render import bytes_json, changes, plain, record_json
from runtime.pipeline.preview.samples import SampleMessage
from runtime.pipeline.sink.convert_sink import message_place
from runtime.pipeline.sink.dead_letters import context_headers, dead_letter_topic
from runtime.pipeline.task.failure import Failure, Stage, java_name, message_of
from runtime.pipeline.tolerance import Policy, plugin_name

At = Callable[[str], None]
"""Called with the position of the preview before each call of third-party code."""

Shown = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NamedStep:
    """A step with its names in the config."""

    alias: str
    predicate: str | None
    step: ChainStep

    @property
    def where(self) -> str:
        """The position of the step in the config, for messages."""
        return f"transforms.{self.alias} ({plugin_name(self.step.transformation)})"


class _Ended(Exception):
    """The record was dropped (None) or failed."""

    def __init__(self, failure: tuple[Stage, str, BaseException] | None) -> None:
        super().__init__()
        self.failure = failure


class Tracer:
    """The chain of one config. `at` is called with the position before each call of a plugin."""

    def __init__(self, spec: TaskSpec, at: At) -> None:
        self._spec, self._tell = spec, at
        self._policy = Policy.of(spec.settings)
        self.number: int | None = None  # of the current sample
        at("configure() of the transformations")
        self.steps = _named(spec, load_steps(spec))
        at("configure() of the converters")
        self.converters = _registration_disabled(load_converters(spec))

    def stages(self) -> list[Shown]:
        """The stages, in order."""
        chain = [
            {
                "stage": "TRANSFORMATION",
                "alias": named.alias,
                "class": plugin_name(named.step.transformation),
                "predicate": named.predicate,
                "negate": named.step.negate,
            }
            for named in self.steps
        ]
        key, value, header = self.converters
        around = [
            {"stage": stage.value, "class": plugin_name(converter)}
            for stage, converter in (
                (Stage.KEY_CONVERTER, key), (Stage.VALUE_CONVERTER, value), (Stage.HEADER_CONVERTER, header),
            )
        ]  # fmt: skip
        return around + chain if self._spec.type == "sink" else chain + around

    def sink(self, message: SampleMessage) -> Shown:
        """Trace a message to the record that the task's put() would receive."""
        trace: Shown = {"kafka": message_json(message), "before": None, "after": None, "stages": []}
        try:
            record = self._read(message)
            trace["before"] = record_json(record)
            trace |= _after(self._through(record, trace["stages"]))
        except _Ended as end:
            return self._ended(trace, end, message)
        return _passed(trace)

    def source(self, record: SourceRecord) -> Shown:
        """Trace a record to the message that would be written to Kafka."""
        trace: Shown = {"before": record_json(record), "after": None, "kafka": None, "stages": []}
        try:
            made = self._through(record, trace["stages"])
            trace |= _after(made)
            trace["kafka"], *_ = [self._written(last) for last in made]
        except _Ended as end:
            return self._ended(trace, end, record)
        return _passed(trace)

    def close(self) -> list[str]:
        """Close the transformations as at the end of a task. Returns errors as text."""
        self.number, troubles = None, []
        for named in self.steps:
            self._at(f"close() of {named.where}")
            try:
                named.step.transformation.close()
            except BaseException as error:  # third-party code
                troubles.append(f"close() of {named.where} raised {error!r}")
        return troubles

    def _at(self, what: str) -> None:
        self._tell(what if self.number is None else f"{what}, record {self.number}")

    def _read(self, message: SampleMessage) -> SinkRecord:
        topic = message.topic()
        key_schema, key = self._convert(Stage.KEY_CONVERTER, lambda c: c.key.to_connect(topic, message.key()))
        value_schema, value = self._convert(Stage.VALUE_CONVERTER, lambda c: c.value.to_connect(topic, message.value()))
        headers = self._convert(
            Stage.HEADER_CONVERTER,
            lambda c: [(name, *c.header.to_connect_header(topic, name, data)) for name, data in message.headers()],
        )
        kind, timestamp = message.timestamp()
        return SinkRecord(
            topic, message.partition(), key_schema, key, value_schema, value, message.offset(),
            stamp_of(timestamp), kind - 1, headers or None, message,
        )  # fmt: skip

    def _written(self, record: SourceRecord) -> Shown:
        topic = record.topic
        key = None
        if record.key is not None or record.key_schema is not None:
            key = self._convert(Stage.KEY_CONVERTER, lambda c: c.key.from_connect(topic, record.key_schema, record.key))
        value = self._convert(
            Stage.VALUE_CONVERTER, lambda c: c.value.from_connect(topic, record.value_schema, record.value)
        )
        headers = self._convert(
            Stage.HEADER_CONVERTER,
            lambda c: [
                (name, c.header.from_connect_header(topic, name, schema, data))
                for name, schema, data in record.headers or ()
            ],
        )
        return {
            "topic": plain(topic),
            "partition": record.kafka_partition,
            "key": bytes_json(key),
            "value": bytes_json(value),
            "headers": {name: bytes_json(data) for name, data in headers},
        }

    def _convert(self, stage: Stage, call: Callable[[Converters], Any]) -> Any:
        by_stage = {Stage.KEY_CONVERTER: self.converters.key, Stage.VALUE_CONVERTER: self.converters.value}
        converter = by_stage.get(stage, self.converters.header)
        self._at(f"the {stage.value.lower().replace('_', ' ')} ({plugin_name(converter)})")
        try:
            return call(self.converters)
        except BaseException as error:  # third-party code
            raise _Ended((stage, plugin_name(converter), error)) from None

    def _through(self, record: Any, stages: list[Shown], first: int = 0) -> list[Any]:
        """The record after the steps from `first` on; each step adds its changes to `stages`. If a step makes several
        records of it, the changes are those of the first one, and the others follow it in the result."""
        before = record_json(record)
        others: list[Any] = []
        for number, named in enumerate(self.steps[first:], first):
            stage: Shown = {"alias": named.alias, "class": plugin_name(named.step.transformation), "applied": True}
            if named.predicate is not None:
                stage["predicate"] = named.predicate
            stages.append(stage)
            self._at(named.where)
            try:
                stage["applied"] = named.step.applies(record)
                if not stage["applied"]:
                    continue
                made = _made(named.step.transformation, record)
                if not made:
                    stage["dropped"] = True
                    raise _Ended(None)
                after = record_json(made[0])
            except _Ended:
                raise
            except BaseException as error:  # third-party code
                raise _Ended((Stage.TRANSFORMATION, stage["class"], error)) from None
            stage["changes"], before, record = changes(before, after), after, made[0]
            others = [last for other in made[1:] for last in self._rest(other, number + 1)] + others
        return [record, *others]

    def _rest(self, record: Any, first: int) -> list[Any]:
        """A further result of a step after the steps from `first` on; empty if it is dropped there."""
        try:
            return self._through(record, [], first)
        except _Ended as end:
            if end.failure is not None:
                raise
            return []

    def _ended(self, trace: Shown, end: _Ended, record: Any) -> Shown:
        if end.failure is None:
            return {**trace, "result": "DROPPED", "by": _dropped_by(trace["stages"][-1])}
        stage, plugin, error = end.failure
        shown = {
            "stage": stage.value,
            "class": plugin,
            "exception": java_name(error),
            "message": plain(message_of(error)),
        }
        if stage is Stage.TRANSFORMATION:
            shown["alias"] = trace["stages"][-1]["alias"]
        if isinstance(error, RetriableError):
            shown["retried_for_ms"] = int(self._policy.retry_timeout * 1000)
        if error.__cause__ is not None:
            shown["cause"] = plain(f"{java_name(error.__cause__)}: {message_of(error.__cause__)}")
        by = f"{shown.get('alias', stage.value)}: {shown['message'] or shown['exception']}{shown.get('cause', '')}"
        letter = self._letter(stage, plugin, error, record)
        return {**trace, "result": self._fate(error), "by": by, "error": shown, **letter}

    def _fate(self, error: BaseException) -> str:
        if not self._policy.tolerate_all or not isinstance(error, Exception):
            return "FAILS"
        return "DEAD_LETTER" if self._dead_letters else "SKIPPED"

    @property
    def _dead_letters(self) -> str:
        return dead_letter_topic(self._spec.settings) if self._spec.type == "sink" else ""

    def _letter(self, stage: Stage, plugin: str, error: BaseException, record: Any) -> Shown:
        """The message for the dead letter topic, if there would be one."""
        if not self._dead_letters or not isinstance(error, Exception):
            return {}
        failure = Failure(stage, plugin, error, record, message_place(record))
        headers = {name: bytes_json(data) for name, data in context_headers(self._spec, failure)}
        return {"dead_letter": {"topic": self._dead_letters, "headers": headers}}


def _named(spec: TaskSpec, steps: list[ChainStep]) -> list[NamedStep]:
    config = spec.settings
    aliases = comma_separated(config.get("transforms", ""))
    named = zip(aliases, steps, strict=True)
    return [NamedStep(alias, config.get(f"transforms.{alias}.predicate"), step) for alias, step in named]


def _registration_disabled(converters: Converters) -> Converters:
    """Tell converters not to register schemas, if they support that."""
    for converter in converters:
        disable_registration = getattr(converter, "disable_registration", None)
        if disable_registration is not None:
            disable_registration()
    return converters


def _made(transformation: Transformation, record: Any) -> list[Any]:
    """The records that a transformation makes of one."""
    if isinstance(transformation, BatchTransformation):
        return transformation.derive_each(record)
    made = transformation.apply(record)
    if made is not None and not isinstance(made, type(record)):
        raise DataError(f"apply() returned {plain(repr(made))[:200]} instead of a record")
    return [] if made is None else [made]


def _after(made: list[Any]) -> Shown:
    """The record after the chain, and further ones if it gave several."""
    first, *more = map(record_json, made)
    return {"after": first, "more": more} if more else {"after": first}


def _dropped_by(stage: Mapping[str, Any]) -> str:
    return str(stage["alias"]) + (f" ({stage['predicate']})" if "predicate" in stage else "")


def _passed(trace: Shown) -> Shown:
    unchanged = not any(stage.get("changes") for stage in trace["stages"])
    changed_by = [stage["alias"] for stage in trace["stages"] if stage.get("changes")]
    return {**trace, "result": "UNCHANGED" if unchanged else "CHANGED", "by": ", ".join(changed_by)}


def message_json(message: SampleMessage) -> Shown:
    """A message as JSON, keys and values as text where possible."""
    timestamp = message.timestamp()[1]
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": stamp_of(timestamp),
        "key": bytes_json(message.key()),
        "value": bytes_json(message.value()),
        "headers": {name: bytes_json(data) for name, data in message.headers()},
    }
