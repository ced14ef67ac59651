"""The last log lines of each connector."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest

from runtime.logs import context
from runtime.logs.lines import MAX_LINES, ConnectorLines


@pytest.fixture
def lines() -> Iterator[ConnectorLines]:
    handler = ConnectorLines(lambda name, text: text.replace("secret", "[hidden]"))
    logger = logging.getLogger("some.logger")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)


def log(message: str, whose: str, level: int = logging.INFO) -> None:
    logging.getLogger("some.logger").log(level, "%s", message, extra={"context": whose})


def test_lines_are_kept_by_connector_and_task(lines: ConnectorLines) -> None:
    log("one", "[a|task-0]")
    log("two", "[a|task-1]", logging.ERROR)
    log("other", "[b|task-0]")
    log("without context", "")
    assert [(x["task"], x["level"], x["message"]) for x in lines.last("a", 10)] == [
        (0, "INFO", "one"),
        (1, "ERROR", "two"),
    ]
    assert [x["message"] for x in lines.last("a", 1)] == ["two"]
    assert [x["message"] for x in lines.last("a", 10, task=0)] == ["one"]
    assert lines.last("a", 0) == lines.last("nobody", 5) == []


def test_the_number_and_size_of_lines_is_limited(lines: ConnectorLines) -> None:
    for i in range(MAX_LINES + 10):
        log(str(i), "[many|task-0]")
    assert [x["message"] for x in lines.last("many", 10_000)] == [str(i) for i in range(10, MAX_LINES + 10)]
    for _ in range(30):
        log("x" * 100_000, "[long|task-0]")
    assert sum(len(str(x["message"])) for x in lines.last("long", 10_000)) <= 64 * 1024


async def test_lines_of_an_asyncio_task_belong_to_its_connector(lines: ConnectorLines) -> None:
    async def loop(name: str) -> None:
        context.enter(name)
        await asyncio.sleep(0)
        logging.getLogger("some.logger").info("for %s", name)

    await asyncio.gather(*(asyncio.create_task(loop(n)) for n in "ab"))
    assert [[(x["task"], x["message"]) for x in lines.last(n, 9)] for n in "ab"] == [
        [(None, "for a")],
        [(None, "for b")],
    ]


def test_secrets_are_hidden(lines: ConnectorLines) -> None:
    log("a secret!", "[c|task-0]")
    assert lines.last("c", 1)[0]["message"] == "a [hidden]!"
