"""A worker's principal on a broker with ACLs: the rights it needs, and the reports of missing rights."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from runtime.api.errors import ConnectError, DataError
from runtime.kafka.clients import open_clients
from runtime.kafka.clients.kafka_python import ask, describe
from runtime.kafka.clients.oauth.tokens import native_settings
from runtime.kafka.clients.settings import client_config, reaching_config
from runtime.kafka.errors import BrokerUnavailable, GroupError, KafkaProblem, NotAuthorizedError
from runtime.kafka.fencing import fence
from runtime.kafka.groups import Groups
from runtime.kafka.log.clients import LogClients
from runtime.kafka.log.log import TopicLog, TopicLogs, TopicSpec
from runtime.kafka.positions import Positions
from runtime.kafka.samples import newest
from runtime.model.task_spec import TopicGroup
from runtime.pipeline.produce.acks import Acks
from runtime.pipeline.produce.producers import Producers, SlotProducer
from runtime.pipeline.produce.send import send_failure
from runtime.pipeline.sink.consumer import Events, make_consumer
from runtime.pipeline.sink.dead_letters import DeadLetters
from runtime.pipeline.source.delivery import TopicCreator
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.task.failure import Failure, Stage, trace_of
from runtime.storage.connector_offsets import ConnectorOffsets, OffsetTopicUnusable
from runtime.storage.offsets import OffsetStore
from tests.support.broker import unique
from tests.support.herder.group_members import Participant
from tests.support.kafka.secured_broker import ADMINISTRATOR, CONNECT, CONNECTOR, Right, SecuredBroker
from tests.support.kafka.topics import count
from tests.support.servers.token_endpoint import token_endpoint
from tests.support.tasks.pipeline import task_spec
from tests.support.tasks.python_messages import Message
from tests.support.waiting import until, wait_until
from tui.errors import HeadraceError
from tui.model import Connector
from tui.offsets.brokers import Brokers
from tui.offsets.group_lag import GroupLag, of_sinks

TOPIC_RIGHTS = ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")
"""Rights of the worker's principal on its storage topics (docs/security.md)."""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with SecuredBroker(tmp_path_factory.mktemp("secured")).started() as broker:
        yield broker


def topic_rights(prefix: str, *without: str) -> list[Right]:
    return [("TOPIC", prefix, operation) for operation in TOPIC_RIGHTS if operation not in without]


def settings(broker: SecuredBroker, kind: str = "admin", **more: str) -> dict[str, Any]:
    if kind == "admin":
        return client_config(broker.client(), kind).settings
    overrides = {f"{kind}.override.{key.replace('_', '.')}": value for key, value in more.items()}
    overrides |= {f"{kind}.override.{key}": value for key, value in broker.client().items()}
    return client_config({}, kind, overrides).settings


def opened(
    broker: SecuredBroker, prefix: str, timeout: float = 5.0, reaching: dict[str, Any] | None = None
) -> tuple[TopicLogs, TopicLog]:
    logs = TopicLogs(settings(broker) if reaching is None else reaching, timeout)
    return logs, logs.open(TopicSpec(f"{prefix}-configs", 1, 1, "config.storage", single=True), lambda records: None)


async def test_the_rights_of_the_table_are_sufficient(secured: SecuredBroker) -> None:
    """Covers the storage topics and the group, over TLS with JKS stores."""
    await use_all_rights(secured, settings(secured))


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "OAUTHBEARER", "mTLS with PEM"])
async def test_all_clients_authenticate(secured: SecuredBroker, mechanism: str) -> None:
    """Storage topics, group, requests about groups, producer and consumer; those of OAUTHBEARER share a token."""
    with token_endpoint() as endpoint:
        user = ADMINISTRATOR if mechanism.startswith("mTLS") else CONNECT
        reaching = client_config(secured.login(mechanism, endpoint.url, user), "admin").settings
        prefix = await use_all_rights(secured, reaching)
        await asyncio.to_thread(ask, reaching, f"{prefix}-workers", describe(f"{prefix}-workers"), 10.0)
        with open_clients.consumer({**reaching, "group.id": prefix}) as consumer:
            consumer.assign([TopicPartition(f"{prefix}-configs", 0, 0)])
            assert consumer.consume(1, 20)[0].value() == b"v"
        assert len(endpoint.requests) == (mechanism == "OAUTHBEARER")


async def use_all_rights(secured: SecuredBroker, reaching: dict[str, Any]) -> str:
    """The prefix of the names that were used."""
    prefix = unique("all")
    secured.grant([*topic_rights(prefix), ("GROUP", prefix, "READ")])
    logs, log = opened(secured, prefix, reaching=reaching)
    place = Participant(reaching, f"{prefix}-workers")
    await logs.start()
    try:
        await log.write_all([(b"k", b"v")])
        joined = await asyncio.wait_for(place.join(), 20)
        assert (logs.error, place.trouble) == ("", "") and joined.generation >= 1  # a late member joins twice
    finally:
        await place.leave()
        await logs.close()
    return prefix


async def test_a_topic_that_may_be_neither_described_nor_created_is_named(secured: SecuredBroker) -> None:
    prefix = unique("none")
    logs, _ = opened(secured, prefix)
    try:
        with pytest.raises(
            NotAuthorizedError, match=f"User:connect is not authorized to CREATE topic {prefix}-configs"
        ):
            await asyncio.wait_for(logs.start(), 20)
    finally:
        await logs.close()


async def test_a_topic_that_may_not_be_read_is_named_while_the_worker_waits(secured: SecuredBroker) -> None:
    prefix = unique("unread")
    secured.grant(topic_rights(prefix, "READ"))
    logs, _ = opened(secured, prefix)
    starting = asyncio.create_task(logs.start())
    try:
        await until(lambda: logs.error)
        assert logs.error.startswith(f"User:connect is not authorized to READ topic {prefix}-configs: grant READ")
        secured.grant([("TOPIC", prefix, "READ")])
        await asyncio.wait_for(starting, 30)
        await until(lambda: not logs.error)
    finally:
        starting.cancel()
        await logs.close()


async def test_a_topic_that_may_not_be_written_is_named(secured: SecuredBroker) -> None:
    prefix = unique("with_write_topic")
    secured.grant(topic_rights(prefix, "WRITE"))
    logs, log = opened(secured, prefix)
    await logs.start()
    try:
        with pytest.raises(NotAuthorizedError) as refused:
            await log.write_all([(b"k", b"v")])
        assert str(refused.value).startswith(f"User:connect is not authorized to WRITE topic {prefix}-configs")
        assert logs.error == str(refused.value), "/health shows the error until a record has been written"
        secured.grant([("TOPIC", prefix, "WRITE")])
        await until(lambda: not logs.error or _write(log))
    finally:
        await logs.close()


def _write(log: TopicLog) -> bool:
    log.send(b"k", b"v")
    return False


async def test_a_group_that_may_not_be_joined_is_named_while_the_worker_waits(secured: SecuredBroker) -> None:
    group = unique("foreign")
    place = Participant(settings(secured), group)
    joining = asyncio.create_task(place.join())
    try:
        await until(lambda: place.trouble)
        assert place.trouble.startswith("User:connect is not authorized to ")
        assert place.trouble.endswith(f" on group {group}")
        secured.grant([("GROUP", group, "READ")])
        await asyncio.wait_for(joining, 20)
    finally:
        joining.cancel()
        await place.leave()


async def test_offsets_of_a_sink_need_the_rights_of_the_table(secured: SecuredBroker) -> None:
    """Each operation is refused with the name of the right until the right is granted."""
    name = secured.create_topic(unique("sink"))
    groups, at = Groups(settings(secured)), (name, 0)
    secured.grant([("TOPIC", name, "READ")])
    operations: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
        ("DESCRIBE", lambda: groups.committed(name)),
        ("READ", lambda: groups.alter(name, {at: 0})),
        ("DELETE", lambda: groups.delete_offsets(name, [at])),
    ]
    for operation, call in operations:
        with pytest.raises(GroupError, match=f"User:connect is not authorized to {operation} group {name}"):
            await call()
        secured.grant([("GROUP", name, operation)])
        await call()
    await groups.delete(name)


async def test_orphaned_offsets_are_found_with_describe_on_the_cluster(secured: SecuredBroker) -> None:
    """Without the right, brokers list only groups that the principal may DESCRIBE."""
    name = secured.create_topic(unique("orphan"))
    await Groups({"bootstrap.servers": secured.bootstrap}).alter(name, {(name, 0): 0})
    groups = Groups(settings(secured))
    assert name not in await groups.empty_groups()
    secured.grant([("CLUSTER", "kafka-cluster", "DESCRIBE")])
    assert name in await groups.empty_groups()


async def test_the_retention_of_offsets_is_known_with_describe_configs_on_the_cluster(secured: SecuredBroker) -> None:
    positions = Positions(settings(secured))
    assert await positions.offsets_retention() is None
    secured.grant([("CLUSTER", "kafka-cluster", "DESCRIBE_CONFIGS")])
    retention = await positions.offsets_retention()
    assert retention is not None and retention > 0


async def test_storage_topics_are_used_without_describe_configs_and_the_right_is_named(
    secured: SecuredBroker, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = unique("unchecked")
    created, _ = opened(secured, prefix)
    secured.grant(topic_rights(prefix, "DESCRIBE_CONFIGS"))
    await created.start()
    await created.close()
    logs, log = opened(secured, prefix)
    await logs.start()
    try:
        await log.write_all([(b"k", b"v")])
        right = f"User:connect is not authorized to DESCRIBE_CONFIGS topic {prefix}-configs"
        assert any(right in message for message in caplog.messages)
        secured.grant([("TOPIC", prefix, "DESCRIBE_CONFIGS")])
        caplog.clear()
        again, _ = opened(secured, prefix)
        await again.start()
        await again.close()
        assert not any("DESCRIBE_CONFIGS" in message for message in caplog.messages)
    finally:
        await logs.close()


async def test_positions_in_a_topic_need_describe(secured: SecuredBroker) -> None:
    name = secured.create_topic(unique("undescribed"))
    known = secured.create_topic(unique("described"))
    secured.grant([("TOPIC", known, "DESCRIBE")])
    positions = Positions(settings(secured))
    assert name not in await positions.partitions()
    with pytest.raises(NotAuthorizedError, match=f"User:connect is not authorized to DESCRIBE topic {name}"):
        await positions.ends([(known, 0), (name, 0)])
    secured.grant([("TOPIC", name, "DESCRIBE")])
    assert name in await positions.partitions()
    assert await positions.ends([(name, 0)]) == {(name, 0): 0}


async def test_a_group_without_rights_hides_only_its_own_lag_from_the_console(secured: SecuredBroker) -> None:
    known, hidden = (secured.create_topic(unique(name)) for name in ("known", "hidden"))
    owner = Groups({"bootstrap.servers": secured.bootstrap})
    for name in (known, hidden):
        await owner.alter(f"connect-{name}", {(known, 0): 0})
    secured.grant([("TOPIC", known, "DESCRIBE"), ("GROUP", f"connect-{known}", "DESCRIBE")])
    brokers = Brokers(secured.secured, native_settings(settings(secured)))
    sinks = [Connector(name, "sink", config={"topics": known}) for name in (known, hidden)]
    found = of_sinks(brokers, sinks)
    assert found[known] == GroupLag(0, 0)
    assert isinstance(found[hidden], HeadraceError) and "GROUP_AUTHORIZATION_FAILED" in str(found[hidden])
    ends = brokers.ends_or_errors([(known, 0), (hidden, 0)])
    assert ends[known, 0] == 0 and "TOPIC_AUTHORIZATION_FAILED" in str(ends[hidden, 0])


async def test_previews_require_the_read_role(secured: SecuredBroker) -> None:
    name = secured.create_topic(unique("previewed"))
    secured.produce(name, b"sample")
    secured.grant([("TOPIC", name, "DESCRIBE")])
    own = settings(secured, "consumer")
    with pytest.raises(NotAuthorizedError, match=f"User:connect is not authorized to READ topic {name}"):
        await newest(own, name.__eq__, 1)
    secured.grant([("TOPIC", name, "READ")])
    assert [sample["topic"] for sample in await newest(own, name.__eq__, 1)] == [name]


def test_sources_need_create_for_their_topics(secured: SecuredBroker, caplog: pytest.LogCaptureFixture) -> None:
    """Without the right, the topic has to exist, as with Apache's worker; the log names the right."""
    name, group = unique("new"), TopicGroup("default", [], [], 1, 1)
    creator = TopicCreator(
        task_spec("source", "x:Y", {}, admin=settings(secured), topic_groups=[group]), TaskControl(False, lambda: None)
    )
    caplog.set_level("INFO")
    creator.ensure(name)
    assert any(f"User:connect is not authorized to CREATE topic {name}" in message for message in caplog.messages)
    assert not exists(secured, name)
    secured.grant([("TOPIC", name, "CREATE")])
    creator.ensure(name)
    wait_until(lambda: exists(secured, name), 10)


def test_dead_letters_need_create_and_write(secured: SecuredBroker) -> None:
    secured.grant([("TOPIC", unique("other"), "WRITE")])  # an idempotent producer needs WRITE on any topic to begin
    name = unique("letters")
    config = {"errors.deadletterqueue.topic.name": name, "errors.deadletterqueue.topic.replication.factor": "1"}
    own = settings(secured, "producer")
    spec = task_spec("sink", "x:Y", config, admin=settings(secured), producer=own)

    def letters() -> DeadLetters:
        return DeadLetters(spec, SlotProducer(own), TaskControl(False, lambda: None))

    with pytest.raises(ConnectError) as refused:
        letters().ensure_topic()
    assert f"User:connect is not authorized to CREATE topic {name}" in trace_of(refused.value)
    secured.grant([("TOPIC", name, "CREATE"), ("TOPIC", name, "DESCRIBE")])
    letters().ensure_topic()
    wait_until(lambda: exists(secured, name), 10)

    failed = Failure(Stage.TASK_PUT, "x", DataError("bad"), Message(0, b"v"), "")
    with_write_topic = letters()
    with_write_topic.report(failed)
    with pytest.raises(ConnectError) as refused:
        with_write_topic.settle(20)
    assert f"User:connect is not authorized to WRITE topic {name}" in trace_of(refused.value)
    secured.grant([("TOPIC", name, "WRITE")])
    written = letters()
    written.report(failed)
    assert written.settle(20)
    assert count(secured.bootstrap, name) == 1


def exists(broker: SecuredBroker, topic: str) -> bool:
    return topic in AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(timeout=10).topics


@pytest.mark.parametrize("denied", ["topic", "group"])
def test_a_sink_names_the_missing_read_right(secured: SecuredBroker, denied: str) -> None:
    name = secured.create_topic(unique(f"no-{denied}"))
    granted = [("TOPIC", name, "DESCRIBE"), ("GROUP", name, "READ")]
    secured.grant(granted if denied == "topic" else [("TOPIC", name, "READ")])
    own = {**settings(secured, "consumer"), "group.id": name}
    consumer, events = make_consumer(own, lambda error, done: None, 1024), Events(own)
    consumer.subscribe([name])
    try:
        with pytest.raises(ConnectError, match=f"User:connect is not authorized to READ {denied} {re.escape(name)}"):
            _consume(consumer, events)
    finally:
        consumer.close()


def _consume(consumer: Any, events: Events) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        events.without(consumer.consume(10, 0.1))


def test_a_source_names_the_missing_write_right(secured: SecuredBroker) -> None:
    topic = secured.create_topic(unique("no-write"))
    own, acks = settings(secured, "producer"), Acks()
    producer = Producers().take(own)
    producer.produce(topic, value=b"x", on_delivery=acks.begin({}))
    acks.seal()
    producer.client.flush(20)
    assert acks.error is not None
    trace = trace_of(send_failure(acks.error, own))
    assert f"WRITE on topic {topic} is not granted to User:connect" in trace


def test_a_source_ends_when_its_credentials_are_refused(secured: SecuredBroker) -> None:
    producer, acks = SlotProducer({**settings(secured, "producer"), "sasl.password": "wrong"}), Acks()
    producer.produce("any", value=b"x", on_delivery=acks.begin({}))
    acks.seal()

    def refused() -> bool:
        producer.poll(0.1)
        return producer.fatal is not None

    wait_until(refused)
    assert producer.fatal is not None
    failure = producer.failure(producer.fatal)
    assert isinstance(failure, ConnectError) and "Invalid username or password" in str(failure)
    producer.client.purge()


def test_a_sink_ends_when_its_credentials_are_refused(secured: SecuredBroker) -> None:
    own = {**settings(secured, "consumer"), "group.id": "any", "sasl.password": "wrong"}
    events = Events(own)
    with closing(make_consumer(own, lambda error, done: None, 1024, log=events.log)) as consumer:
        consumer.subscribe(["any"])
        with pytest.raises(ConnectError, match=r"The consumer cannot continue: .*Invalid username or password"):
            for _ in range(200):
                consumer.poll(0.1)
                events.check()


async def test_fencing_names_the_refusal_of_its_credentials(secured: SecuredBroker) -> None:
    with pytest.raises(KafkaProblem, match=r"Kafka refuses the client .*Invalid username or password") as refused:
        await fence({**settings(secured), "sasl.password": "wrong"}, ["any"], within=1.0)
    assert not isinstance(refused.value, BrokerUnavailable)
    wrong = {**settings(secured), "sasl.password": "wrong"}
    with pytest.raises(
        BrokerUnavailable, match=r"the broker refuses the login of connect \(sasl.jaas.config\): .*Invalid"
    ):
        await asyncio.to_thread(ask, wrong, "any", describe("any"), 0.5)


KINDS = ("admin", "consumer", "producer")


def as_connector(broker: SecuredBroker) -> dict[str, str]:
    """Overrides with which a connector's clients have a principal of their own."""
    return {f"{kind}.override.{k}": v for kind in KINDS for k, v in broker.client(CONNECTOR).items()}


async def test_a_connector_uses_its_own_offset_topic_with_its_own_principal(secured: SecuredBroker) -> None:
    """The rows of Connect's table for the offsets topic of a connector (exactly-once source support), one by one; the
    worker's principal has no right on the topic."""
    prefix = unique("own")
    own, shared = f"{prefix}-own", f"{prefix}-shared"
    secured.grant(topic_rights(shared))
    logs = TopicLogs(settings(secured))
    config = {"offsets.storage.topic": own, **as_connector(secured)}
    offsets = ConnectorOffsets(
        OffsetStore(logs, TopicSpec(shared, 1, 1, "offset.storage")),
        lambda topic: TopicSpec(topic, 1, 1, "offset.storage"),
        lambda overrides: LogClients(*(reaching_config({}, kind, overrides) for kind in KINDS)),
        lambda name: config,
        lambda config: config["offsets.storage.topic"],
        lambda: ["c"],
        open_timeout=3,
    )  # fmt: skip
    await logs.start()
    try:
        for operation in ("CREATE", "DESCRIBE", "READ"):
            with pytest.raises(KafkaProblem, match=f"User:connector is not authorized to {operation} topic {own}"):
                await offsets.read_to_end("c")
            secured.grant([("TOPIC", own, operation)], CONNECTOR)
        await offsets.read_to_end("c")
        with pytest.raises(NotAuthorizedError, match=f"User:connector is not authorized to WRITE topic {own}"):
            await offsets.alter("c", [({"p": 1}, {"n": 1})])
        secured.grant([("TOPIC", own, "WRITE")], CONNECTOR)
        await offsets.alter("c", [({"p": 1}, {"n": 1})])
        await offsets.read_to_end("c")
        assert [o.offset for o in offsets.offsets("c")] == [{"n": 1}]

        secured.withdraw(
            [("TOPIC", own, "READ")], CONNECTOR
        )  # from a topic in use: Java's task fails at its next start
        with pytest.raises(OffsetTopicUnusable, match=f"User:connector is not authorized to READ topic {own}"):
            async with asyncio.timeout(100):
                while True:
                    await offsets.read_to_end("c")
        secured.grant([("TOPIC", own, "READ")], CONNECTOR)
        await offsets.read_to_end("c")
        assert [o.offset for o in offsets.offsets("c")] == [{"n": 1}]
    finally:
        await offsets.close()
        await logs.close()
