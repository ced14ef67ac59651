"""READ: secrets in configurations are masked under whatever key and in whatever form they are written."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import pytest

from runtime.api.errors import ConnectError
from runtime.config.secret_values import WORKER, Secrets
from runtime.definitions.render import describe
from runtime.herder.configs.password_keys import PasswordKeys
from runtime.herder.status.events import EventLog
from runtime.herder.status.status_board import StatusBoard
from runtime.logs.formats import MAX_RAW_TRACE, cut_trace
from runtime.logs.limited import log_line
from runtime.logs.lines import ConnectorLines
from runtime.model.states import State, TaskId
from runtime.pipeline.task.error_counts import Counts
from runtime.pipeline.task.failure import MAX_MESSAGE, Failure, Stage, trace_of
from runtime.plugins.registry import PluginRegistry
from runtime.storage.statuses import StatusStore
from tests.support.herder.memory_logs import TestLogs, topic

REGISTRY = PluginRegistry()
SECRET = "S3cretOfAConnector"


async def described(cls: str) -> list[dict[str, Any]]:
    plugin = REGISTRY.find(cls)
    assert plugin is not None
    return describe(plugin, REGISTRY.load_class(plugin))


@pytest.mark.parametrize(
    ("connector", "key", "value"),
    [
        ("headrace.HttpSinkConnector", "http.header.X-Api-Key", "{}"),
        ("headrace.HttpSinkConnector", "http.header.X-Auth-Token", "{}"),
        ("headrace.HttpSinkConnector", "http.url", "https://me:{}@host/path"),
        ("headrace.HttpSourceConnector", "http.url", "https://host/path?access_token={}"),
        ("headrace.SparkSinkConnector", "spark.option.sfToken", "{}"),
        ("headrace.SparkSinkConnector", "spark.option.pem_private_key", "{}"),
        ("headrace.SparkSinkConnector", "spark.option.fs.azure.account.key.x.dfs.core.windows.net", "{}"),
        ("headrace.SparkSourceConnector", "spark.option.url", "jdbc:mysql://host/d?user=me&password={}"),
        ("headrace.JdbcSourceConnector", "connection.url", "postgresql://me:{}@host/d"),
        ("headrace.JdbcSinkConnector", "connection.url", "jdbc:sqlserver://host;user=me;password={}"),
        ("headrace.DataSourceConnector", "data.source.option.token", "{}"),
        ("headrace.DataSourceConnector", "data.source.option.PWD", "{}"),
        ("headrace.DataSourceConnector", "data.source.option.url", "https://host?sig={}"),
        ("headrace.FilesSinkConnector", "url", "sftp://me:{}@host/folder"),
        ("FileStreamSink", "free.credential", "{}"),
        ("FileStreamSink", "consumer.override.ssl.truststore.certificates", "{}"),
        ("FileStreamSink", "consumer.override.sasl.jaas.config", 'x required username="${env:U}" password="{}";'),
        ("FileStreamSink", "transforms.token.Api-Key", "{}"),
    ],
)  # fmt: skip
async def test_secrets_in_free_form_keys_and_urls(connector: str, key: str, value: str) -> None:
    keys = PasswordKeys(described)
    config = {"connector.class": connector, "name": "c", "topics": "t", key: value.replace("{}", SECRET)}
    shown = await keys.masked(config)
    assert SECRET not in str(shown) and "[hidden]" in shown[key]
    assert {name: text for name, text in shown.items() if name != key} == {n: t for n, t in config.items() if n != key}
    assert any(SECRET in text for text in await keys.values(config)), "logs and traces show the secret"


GUESSES = "000001000020000300004"  # a text with many numbers, of which one may be a password


async def test_a_reader_who_writes_records_learns_no_secret_of_another_connector() -> None:
    """Errors, traces and log lines quote a record, in which the secrets of other connectors stay as they are: what is
    hidden would show what is equal. Those of the connector itself and of the worker are hidden."""
    secrets = Secrets()
    secrets.keep("other", ["00002000", "S3cretOfOther"])
    secrets.keep("mine", [SECRET])
    secrets.keep(WORKER, ["S3cretOfWorker"])
    text = f"cannot parse {GUESSES} S3cretOfOther {SECRET} S3cretOfWorker"
    shown = f"cannot parse {GUESSES} S3cretOfOther [hidden] [hidden]"
    store = StatusStore(TestLogs(), topic("statuses"))
    board = StatusBoard(store, EventLog(), "w:1", secrets, lambda name: None)
    lines = ConnectorLines(secrets.scrub_of)
    logging.getLogger("some.plugin").addHandler(lines)
    logging.getLogger("some.plugin").error("%s", text, extra={"context": "[mine|task-0]"})
    logging.getLogger("some.plugin").removeHandler(lines)
    board.task(TaskId("mine", 0), State.FAILED, None, text)
    board.connector("mine", State.FAILED, None, text)
    error = {"time": 1, "stage": "TASK_PUT", "class": "x", "exception": "x", "message": text, "cause": text}
    board.errors.report(TaskId("mine", 0), 1, {**Counts().snapshot(), "last": [error]})
    status = store.connector_status("mine")
    assert status is not None
    [failure] = board.errors.view("mine")["last"]
    assert {
        lines.last("mine", 1)[0]["message"], store.task_statuses("mine")[0].trace, status.trace, failure["message"],
        failure["cause"],
    } == {shown}  # fmt: skip
    assert secrets.scrub(text) == "cannot parse 000001[hidden]0300004 [hidden] [hidden] [hidden]", "the worker's log"


async def test_the_output_of_a_shared_process_in_a_trace_shows_no_secret_of_another_connector() -> None:
    """The plugins of several connectors print to the output of one JVM, whose last lines are in the traces of all."""
    secrets = Secrets()
    secrets.keep("other", ["S3cretOfOther"])
    store = StatusStore(TestLogs(), topic("statuses"))
    board = StatusBoard(store, EventLog(), "w:1", secrets, lambda name: None)
    reason = "The task host JVM has ended with code 1: password=S3cretOfOther"
    board.share_text("")
    board.share_text(reason)
    board.task(TaskId("mine", 0), State.FAILED, None, f"x: {reason}\n\tat y S3cretOfOther")
    trace = store.task_statuses("mine")[0].trace
    assert trace == "x: The task host JVM has ended with code 1: password=[hidden]\n\tat y S3cretOfOther"


@pytest.mark.parametrize("secret", ["S3cretOfMine", "S3cret" + "0123456789" * 100], ids=["short", "long"])
def test_a_reader_finds_no_half_of_a_secret_where_a_text_was_cut(secret: str) -> None:
    """What slots send is cut before the worker, which knows the secrets, hides them: the author of records chooses
    where a message that quotes them is cut."""
    secrets = Secrets()
    secrets.keep("mine", [secret])
    for half in (4, len(secret) // 2, len(secret) - 1):
        shown = partial(secrets.scrub_of, "mine")
        long = "." * (MAX_MESSAGE - half) + secret
        trace = shown(trace_of(ConnectError(long)))
        assert f"({len(long)} characters)" in trace
        gap = cut_trace("." * (MAX_RAW_TRACE // 2 - half) + secret + "x" * MAX_RAW_TRACE, MAX_RAW_TRACE)
        end = cut_trace("x" * MAX_RAW_TRACE + secret + "." * (MAX_RAW_TRACE // 2 - half), MAX_RAW_TRACE)
        counts = Counts()
        counts.failed(Failure(Stage.TASK_PUT, "x", ConnectError("." * (2000 - half) + secret), None, ""))
        quoted = shown(counts.snapshot()["last"][0]["message"])
        for text in (trace, shown(gap), shown(end), quoted):
            assert not any(part in text for part in (secret[:4], secret[half : half + 4]) if len(part) == 4), half


def test_a_reader_finds_no_half_of_a_secret_in_a_line_of_many_secrets() -> None:
    """The line is shorter when they are hidden, so that the place of an early cut moves into what is shown."""
    secrets = Secrets()
    secrets.keep("mine", [SECRET * 10])
    lines = ConnectorLines(secrets.scrub_of)
    logging.root.addHandler(lines)
    try:
        log_line("ERROR", "some.plugin", SECRET * 10 * 4000, "[mine|task-0]")
    finally:
        logging.root.removeHandler(lines)
    message = str(lines.last("mine", 1)[0]["message"])
    assert SECRET[:4] not in message and message.endswith("[hidden] [line cut]")
