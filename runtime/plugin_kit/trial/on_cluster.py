"""Runs a plugin on the embedded cluster: a real worker, a Spark slot and a Kafka broker, until ^C.

The plugin's package is copied to the embedded worker's plugin folder for the time of the run. The connector's name has
the prefix `plugin-run-`; it is deleted at the end, and its offsets are reset, so that each run starts from the
beginning."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.api.connector import SinkConnector
from runtime.embedded.cluster import EmbeddedCluster
from runtime.embedded.errors import EmbeddedError
from runtime.embedded.processes.ports import WantedPorts
from runtime.embedded.state import plugins_folder, state_folder
from runtime.pipeline.load import load_converter, load_converters
from runtime.pipeline.preview.render import record_json
from runtime.pipeline.preview.samples import SampleMessage, produced_record
from runtime.plugin_kit.errors import KitError, KitUsageError
from runtime.plugin_kit.trial.request import TrialRequest
from runtime.plugin_kit.trial.rest_client import EmbeddedRest
from runtime.plugin_kit.trial.screen import Screen

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_DONE, _FAILED = 0, 1
_POLL = 0.2  # seconds between two looks at topics and status


def run(request: TrialRequest, screen: Screen) -> int:
    """Shows records until the limit or ^C. Returns the exit code."""
    if request.connector is None:
        raise KitUsageError("a configuration without connector.class runs in this process: give --input FILE")
    with _cluster() as (url, bootstrap), _copied(request):
        rest = EmbeddedRest(url)
        rest.reload_plugins()
        name = f"plugin-run-{request.name}"
        rest.delete(name)
        try:
            trial = _SinkTrial if issubclass(request.connector, SinkConnector) else _SourceTrial
            return trial(request, rest, name, bootstrap, screen).run()
        except KeyboardInterrupt:
            screen.say("")
            return _DONE
        finally:
            screen.say(f"Deleting connector {name}.")
            _remove(rest, name)


def _remove(rest: EmbeddedRest, name: str) -> None:
    with suppress(KitError):
        rest.stop(name)
        rest.reset_offsets(name)
    rest.delete(name)


@contextmanager
def _cluster() -> Iterator[tuple[str, str]]:
    """The embedded cluster's addresses. It ends with the run unless others use it."""

    def report(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    cluster = EmbeddedCluster(state_folder(), report)
    try:
        state = cluster.up(os.getpid(), WantedPorts.of()).state
    except EmbeddedError as error:
        raise KitError(str(error)) from None
    try:
        yield state.url, state.bootstrap
    finally:
        cluster.detach(os.getpid())


@contextmanager
def _copied(request: TrialRequest) -> Iterator[None]:
    """The plugin's packages in the embedded worker's plugin folder."""
    target = plugins_folder()
    target.mkdir(parents=True, exist_ok=True)
    packages = {cls.__module__.partition(".")[0] for cls in request.code.plugins}
    copies = [_copy(request.code.source, package, target) for package in sorted(packages)]
    try:
        yield
    finally:
        for copy in copies:
            shutil.rmtree(copy) if copy.is_dir() else copy.unlink(missing_ok=True)


def _copy(source: Path, package: str, target: Path) -> Path:
    folder, module = source / package, source / f"{package}.py"
    if module.is_file():
        return Path(shutil.copy2(module, target / module.name))
    shutil.copytree(folder, target / package, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    return target / package


class _Trial:
    """A connector on the cluster, and what it does."""

    def __init__(self, request: TrialRequest, rest: EmbeddedRest, name: str, bootstrap: str, screen: Screen) -> None:
        self._request, self._rest, self._name = request, rest, name
        self._bootstrap, self._screen = bootstrap, screen
        self._spec = request.spec()
        self._converters = load_converters(self._spec)
        self._states: dict[str, str] = {}

    def _create(self) -> None:
        converters = {
            "key.converter": self._spec.key_converter,
            "value.converter": self._spec.value_converter,
            "header.converter": self._spec.header_converter,
        }
        config = dict(self._request.config)
        for key, converter in converters.items():
            config[key] = converter.cls
            config |= {f"{key}.{name}": text for name, text in converter.config.items()}
        self._rest.create(self._name, config)
        self._screen.say(f"Created connector {self._name}; ^C ends the run.")

    def _alive(self) -> bool:
        """Shows changed states. False if the connector or a task has failed."""
        status = self._rest.status(self._name)
        parts = {"connector": status["connector"]} if status else {}
        parts |= {f"task {task['id']}": task for task in status.get("tasks", ())}
        for part, reported in parts.items():
            if self._states.get(part) != reported["state"]:
                self._states[part] = reported["state"]
                self._screen.say(f"{part.capitalize()} is {reported['state']}.")
                if reported["state"] == "FAILED":
                    self._screen.say(reported.get("trace", ""))
        return "FAILED" not in self._states.values()

    def _enough(self) -> bool:
        return self._request.limit is not None and self._screen.number >= self._request.limit


class _SourceTrial(_Trial):
    def run(self) -> int:
        """Shows the records that arrive in the topics of the source."""
        from confluent_kafka import Consumer

        settings = {"bootstrap.servers": self._bootstrap, "group.id": self._name, "log_level": 0}
        reader = Consumer({**settings, "isolation.level": "read_committed"})
        try:
            ends = _ends(reader)
            self._create()
            return self._follow(reader, ends)
        finally:
            reader.close()

    def _follow(self, reader: Consumer, ends: Mapping[tuple[str, int], int]) -> int:
        topics: set[str] = set()
        looked = 0.0
        while not self._enough():
            if time.monotonic() - looked > _POLL:
                looked = time.monotonic()
                if not self._alive():
                    return _FAILED
                topics |= _assigned(reader, set(self._rest.topics(self._name)) - topics, ends)
            if not topics:
                time.sleep(_POLL)
                continue
            message = reader.poll(0.1)
            if message is not None and message.error() is None:
                self._show(message)
        return _DONE

    def _show(self, message: Message) -> None:
        kind, stamp = message.timestamp()
        headers: Any = message.headers() or []
        sample = SampleMessage(
            message.topic() or "", message.partition() or 0, message.offset() or 0, stamp if kind else None,
            message.key(), message.value(), list(headers),
        )  # fmt: skip
        place = f"partition {sample.partition()} offset {sample.offset()}"
        try:
            shown = record_json(produced_record(sample, self._converters))
        except Exception as error:  # a converter that cannot read what it has written
            self._screen.record(sample.topic(), None, repr(sample.value()), place)
            self._screen.detail(f"The converter cannot read it: {error}")
            return
        self._screen.record(sample.topic(), shown["key"], shown["value"], place)


class _SinkTrial(_Trial):
    def run(self) -> int:
        """Produces the input, and shows the sink's state until everything is committed or ^C."""
        end = self._produce()
        self._create()
        committed = -1
        while committed < end:
            if not self._alive():
                return _FAILED
            now = self._committed()
            if now != committed:
                committed = now
                self._screen.say(f"Committed offset {max(committed, 0)} of {end}.")
            time.sleep(_POLL)
        if self._request.limit is None and self._request.input is None:
            while self._alive():
                time.sleep(_POLL)
            return _FAILED
        return _DONE

    def _produce(self) -> int:
        """Writes the values to the first partition of the topic, from its end on; returns the end after them."""
        from confluent_kafka import Consumer, Producer, TopicPartition

        topic = self._request.topic
        to_bytes = load_converter(self._spec.value_converter, False, self._spec).from_connect
        producer = Producer({"bootstrap.servers": self._bootstrap, "log_level": 0})
        settings = {"bootstrap.servers": self._bootstrap, "group.id": f"connect-{self._name}", "log_level": 0}
        group = Consumer({**settings, "allow.auto.create.topics": True})
        try:
            while not (partitions := producer.list_topics(topic, timeout=30).topics[topic].partitions):
                time.sleep(_POLL)  # the broker is creating the topic
            starts = {partition: _end(group, topic, partition) for partition in partitions}
            ends = [TopicPartition(topic, partition, end) for partition, end in starts.items()]
            group.commit(offsets=ends, asynchronous=False)
        finally:
            group.close()
        first = starts[0]
        for value in self._request.values():
            producer.produce(topic, to_bytes(topic, None, value), partition=0)
            self._screen.record(topic, None, value, f"partition 0 offset {first + self._screen.number}")
        producer.flush(30)
        return first + self._screen.number

    def _committed(self) -> int:
        from confluent_kafka import Consumer, TopicPartition

        settings: dict[str, Any] = {"bootstrap.servers": self._bootstrap, "log_level": 0}
        client = Consumer({**settings, "group.id": f"connect-{self._name}"})
        try:
            [committed] = client.committed([TopicPartition(self._request.topic, 0)], timeout=10)
            return int(committed.offset)
        finally:
            client.close()


def _end(client: Consumer, topic: str, partition: int) -> int:
    from confluent_kafka import TopicPartition

    _, end = client.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
    return int(end)


def _ends(client: Consumer) -> dict[tuple[str, int], int]:
    """The ends of all partitions that exist."""
    topics = client.list_topics(timeout=30).topics
    return {(name, p): _end(client, name, p) for name, topic in topics.items() for p in topic.partitions}


def _assigned(reader: Consumer, new: set[str], ends: Mapping[tuple[str, int], int]) -> set[str]:
    """Adds the partitions of new topics, from the ends at the start of the run on. Returns the topics that exist."""
    from confluent_kafka import TopicPartition

    existing = {topic: reader.list_topics(topic, timeout=10).topics[topic].partitions for topic in new}
    partitions = [TopicPartition(topic, p, ends.get((topic, p), 0)) for topic in existing for p in existing[topic]]
    if partitions:
        reader.incremental_assign(partitions)
    return {topic for topic in new if existing[topic]}
