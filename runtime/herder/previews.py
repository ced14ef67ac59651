"""Previews of converters and transformations: configuration and samples are chosen, run, and secrets hidden."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.config.secret_values import CallSecrets, scrubber
from runtime.config.worker_config import WorkerConfig
from runtime.herder.configs import task_specs
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.configs.task_specs import TaskRequest
from runtime.herder.errors import BadRequest, HerderError
from runtime.herder.herder import Herder, Response
from runtime.host.port import ConnectorInfo, HostError
from runtime.host.previews import PreviewFailedError, PreviewHost
from runtime.kafka.clients.settings import client_config
from runtime.kafka.samples import Sample, as_text, newest
from runtime.logs.formats import Scrub
from runtime.model.states import INTERNAL_TOPICS
from runtime.model.task_spec import TaskSpec
from runtime.storage.statuses import StatusStore

MAX_SAMPLES = 100
"""The most samples of one preview."""

_CHAIN = ("transforms", "predicates", "key.converter", "value.converter", "header.converter", "errors.", "topics")
_CLIENTS = ("consumer.override.", "producer.override.", "admin.override.")


class PreviewFailed(HerderError):
    """A plugin did not return in time, or ended its process."""

    status = 422


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """A request for a preview.

    `config`: changes to the stored configuration (null removes a key), or the complete configuration of a new
    connector. Samples are the given `records`, or the `last` records of each of `topics` (empty: the connector's)."""

    config: Mapping[str, str | None]
    records: list[dict[str, Any]] | None
    last: int
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A configuration that can be previewed."""

    spec: TaskSpec
    consumer: dict[str, Any]  # librdkafka's settings for reading its topics
    hidden: frozenset[str]  # values that must not be shown


class Previews:
    """Answers preview requests. Event loop only."""

    def __init__(
        self,
        worker: WorkerConfig,
        herder: Herder,
        statuses: StatusStore,
        host: ResolvingHost,
        runner: PreviewHost,
        call_secrets: CallSecrets,
    ) -> None:
        self._worker, self._herder, self._statuses = worker, herder, statuses
        self._host, self._runner, self._call_secrets = host, runner, call_secrets

    async def of_connector(self, name: str, request: PreviewRequest) -> Response:
        """POST /connectors/{name}/preview: the stored configuration, and the same with the requested changes."""
        stored = self._herder.stored(name).config
        merged = {key: value for key, value in {**stored, **request.config}.items() if value is not None}
        info, warnings = await self._checked({**merged, "name": name})
        candidate = await self._candidate(name, info, merged)
        current = await self._candidate(name, info, stored) if merged != stored else None
        return await self._run(name, request, candidate, current or candidate, current, warnings)

    async def of_plugin(self, plugin: str, request: PreviewRequest) -> Response:
        """POST /connector-plugins/{plugin}/preview: a connector that does not exist yet."""
        config = {key: value for key, value in request.config.items() if value is not None}
        config.setdefault("connector.class", plugin)
        config.setdefault("name", "preview")
        info, warnings = await self._checked(config, plugin)
        candidate = await self._candidate(config["name"], info, config)
        return await self._run(config["name"], request, candidate, candidate, None, warnings)

    async def _checked(self, config: Mapping[str, str], plugin: str | None = None) -> tuple[ConnectorInfo, list[str]]:
        """The connector's class, and warnings for invalid keys that do not affect the chain. BadRequest for invalid
        keys that do."""
        cls = config["connector.class"]
        response = await self._herder.validate(plugin or cls, config)
        refused: list[str] = []
        warnings: list[str] = []
        for entry in response["configs"]:
            value = entry["value"]
            matters = value["name"].startswith((*_CHAIN, *_CLIENTS))
            (refused if matters else warnings).extend(f"{value['name']}: {error}" for error in value["errors"])
        if refused:
            raise BadRequest("The chain cannot be created:\n" + "\n".join(refused))
        try:
            info = await self._host.resolve(cls, config)
        except ConfigError as e:  # plugins of different environments
            raise BadRequest(f"The chain cannot be created: {e}") from None
        return info, [f"Invalid, but not used by the preview: {text}" for text in warnings]

    async def _candidate(self, name: str, info: ConnectorInfo, config: Mapping[str, str]) -> _Candidate:
        try:
            resolved, hidden = await self._host.resolved(config)
            spec = task_specs.spec(self._worker, TaskRequest(name, 0, info, resolved, resolved), [], False)
        except ConfigError as e:
            raise BadRequest(str(e)) from None
        consumer = spec.consumer or client_config(self._worker.originals, "consumer", {}).settings
        bare = replace(spec, producer={}, consumer={}, admin={}, offsets_producer={}, topic_groups=[])
        return _Candidate(bare, consumer, frozenset(hidden))

    async def _run(
        self, name: str, request: PreviewRequest, candidate: _Candidate, source: _Candidate,
        current: _Candidate | None, warnings: list[str],
    ) -> Response:  # fmt: skip
        """`source`: the configuration with which the records in the topics were produced; `current`: the stored one,
        if it differs from the candidate."""
        sink = candidate.spec.type == "sink"
        if request.records is not None:
            samples = [_given(record, i, candidate.spec) for i, record in enumerate(request.records)]
        else:
            samples = await self._newest(name, request, candidate)
            if not sink and source.spec.settings.get("transforms", "").strip():
                warnings = [*warnings, _ALREADY.format(source.spec.settings["transforms"])]
        produced = not sink and request.records is None
        run = {"spec": asdict(candidate.spec), "now": None, "samples": samples, "produced": produced}
        if current is not None:
            run["now"] = asdict(current.spec)
        hidden = candidate.hidden | (current.hidden if current is not None else frozenset())
        scrub = scrubber(hidden)  # not with stored secrets, which the caller's records could be compared with
        with self._call_secrets.during(hidden):
            response = await self._preview(run, scrub)
        response["warnings"] = warnings + response["warnings"]
        shown: Response = _scrubbed({"name": name, "type": candidate.spec.type, **response}, scrub)
        return shown

    async def _preview(self, request: dict[str, Any], scrub: Scrub) -> Response:
        try:
            orjson.dumps(request)
        except TypeError as e:  # a number beyond 64 bits
            raise BadRequest(f"A sample cannot be passed to the preview: {e}") from None
        try:
            return await self._runner.preview(request)
        except HostError as e:
            raise BadRequest(scrub(f"The chain cannot be created: {e.message}")) from None
        except PreviewFailedError as e:
            raise PreviewFailed(scrub(str(e))) from None

    async def _newest(self, name: str, request: PreviewRequest, candidate: _Candidate) -> list[Sample]:
        topics = self._topics(name, request, candidate.spec)
        try:
            records = await newest(candidate.consumer, topics, request.last)
        except ConfigError as error:  # topics.regex needs too long
            raise BadRequest(str(error)) from None
        if not records:
            raise BadRequest("The connector's topics have no records to sample: pass 'records' in the request")
        return records

    def _topics(self, name: str, request: PreviewRequest, spec: TaskSpec) -> Callable[[str], bool]:
        """A function that returns whether samples are read from a topic."""
        if request.topics:
            return set(request.topics).__contains__
        if spec.type == "sink" and spec.topics_regex:
            matches = LimitedMatch(spec.topics_regex)
            return lambda topic: topic not in INTERNAL_TOPICS and matches(topic)
        if spec.type == "sink":
            return set(spec.topics).__contains__
        used = set(self._statuses.topics(name))
        if not used:
            raise BadRequest("The topics of this connector are not known: pass 'records' or 'topics' in the request")
        return used.__contains__


def _scrubbed(value: Any, scrub: Scrub) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {scrub(key): _scrubbed(inner, scrub) for key, inner in value.items()}
    return [_scrubbed(inner, scrub) for inner in value] if isinstance(value, list) else value


_ALREADY = (
    "The samples were read from the connector's topics, so the connector's current transformations ({}) have already "
    "been applied to them. Pass 'records' in the request to preview all transformations."
)


def _given(record: Mapping[str, Any], number: int, spec: TaskSpec) -> Sample:
    """A record of the request as a sample: bytes for sinks, data for sources."""
    topic = record["topic"] or (spec.topics[0] if spec.topics else spec.settings.get("topic", "preview"))
    if spec.type != "sink":
        data = {part: _as_data(record[part]) for part in ("key", "value")}
        return {**record, **data, "topic": topic}
    return {
        "topic": topic,
        "partition": record["partition"] or 0,
        "offset": number if record["offset"] is None else record["offset"],
        "timestamp": record["timestamp"],
        "key": as_text(_as_bytes(record["key"])),
        "value": as_text(_as_bytes(record["value"])),
        "headers": [[name, as_text(_as_bytes(value))] for name, value in record["headers"]],
    }


def _as_bytes(value: Any) -> bytes | None:
    """A string as its own bytes, any other JSON value as JSON."""
    if value is None or isinstance(value, bytes):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _as_data(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
