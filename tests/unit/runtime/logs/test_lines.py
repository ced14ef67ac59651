"""Log lines: their contexts, their two formats, and the last ones of each connector."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator

import pytest

from runtime.logs import context
from runtime.logs.formats import FIELDS, JsonFormat, TextFormat
from runtime.logs.lines import MAX_LINES, ConnectorLines


@pytest.fixture
def lines() -> Iterator[ConnectorLines]:
    handler = ConnectorLines(lambda text: text.replace("secret", "[hidden]"))
    logger = logging.getLogger("some.logger")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)


def say(message: str, whose: str, level: int = logging.INFO) -> None:
    logging.getLogger("some.logger").log(level, "%s", message, extra={"context": whose})


def record(message: str, whose: str = "", level: int = logging.WARNING) -> logging.LogRecord:
    made = logging.LogRecord("some.logger", level, __file__, 1, message, (), None)
    made.created, made.msecs = 0.123, 123.0
    if whose:
        made.context = whose
    return made


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("[c|task-0]", ("c", 0)),
        ("[a|b]c|task-12]", ("a|b]c", 12)),
        ("[c|worker]", ("c", None)),
        ("", None),
        ("[c]", None),
        ("c|task-0", None),
    ],
)
def test_contexts(text: str, whose: tuple[str, int | None] | None) -> None:
    assert context.parse(text) == whose


def test_text_is_connects_line() -> None:
    assert (
        TextFormat(str).format(record("said", "[c|task-0]")).partition("] ")[2] == "WARN [c|task-0] said (some.logger)"
    )
    assert TextFormat(str).format(record("said")).endswith(",123] WARN said (some.logger)")


def test_json_is_one_line_whatever_is_said() -> None:
    line = JsonFormat(str).format(record('two\nlines, "quotes" and \udc80', "[c|task-3]", logging.CRITICAL))
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:00.123+00:00",
        "level": "FATAL",
        "logger": "some.logger",
        "connector": "c",
        "task": 3,
        "message": 'two\nlines, "quotes" and \udc80',
    }
    assert json.loads(JsonFormat(str).format(record("x"))).keys() == {"time", "level", "logger", "message"}


def test_traces_follow_the_line() -> None:
    try:
        raise ValueError("because")
    except ValueError as e:
        failed = record("failed")
        failed.exc_info = (ValueError, e, e.__traceback__)
    assert TextFormat(str).format(failed).endswith("ValueError: because")
    assert json.loads(JsonFormat(str).format(failed))["trace"].endswith("ValueError: because")


def test_lines_are_kept_by_connector_and_task(lines: ConnectorLines) -> None:
    say("one", "[a|task-0]")
    say("two", "[a|task-1]", logging.ERROR)
    say("other", "[b|task-0]")
    say("nobody's", "")
    assert [(x["task"], x["level"], x["message"]) for x in lines.last("a", 10)] == [
        (0, "INFO", "one"),
        (1, "ERROR", "two"),
    ]
    assert [x["message"] for x in lines.last("a", 1)] == ["two"]
    assert [x["message"] for x in lines.last("a", 10, task=0)] == ["one"]
    assert lines.last("a", 0) == lines.last("nobody", 5) == []


def test_lines_are_bounded(lines: ConnectorLines) -> None:
    for i in range(MAX_LINES + 10):
        say(str(i), "[many|task-0]")
    assert [x["message"] for x in lines.last("many", 10_000)] == [str(i) for i in range(10, MAX_LINES + 10)]
    for _ in range(30):
        say("x" * 100_000, "[long|task-0]")
    assert sum(len(str(x["message"])) for x in lines.last("long", 10_000)) <= 64 * 1024


async def test_what_a_loop_does_for_a_connector_is_its_own(lines: ConnectorLines) -> None:
    async def loop(name: str) -> None:
        context.enter(name)
        await asyncio.sleep(0)
        logging.getLogger("some.logger").info("for %s", name)

    await asyncio.gather(*(asyncio.create_task(loop(n)) for n in "ab"))
    assert [[(x["task"], x["message"]) for x in lines.last(n, 9)] for n in "ab"] == [
        [(None, "for a")],
        [(None, "for b")],
    ]


def test_secrets_are_in_none_of_them(lines: ConnectorLines) -> None:
    def scrub(text: str) -> str:
        return text.replace('s"ret', "[hidden]")

    for line_format in (TextFormat(scrub), JsonFormat(scrub)):
        assert "[hidden]!" in line_format.format(record('s"ret!'))
    say("a secret!", "[c|task-0]")
    assert lines.last("c", 1)[0]["message"] == "a [hidden]!"


def test_structured_lines_are_never_scrubbed() -> None:
    def scrub(text: str) -> str:
        return text.replace("principal=root", "[hidden]")

    audit = record("principal=root status=200")
    audit.__dict__[FIELDS] = {"principal": "root", "status": 200}
    assert "principal=root status=200" in TextFormat(scrub).format(audit)
    line = json.loads(JsonFormat(scrub).format(audit))
    assert (line["principal"], line["status"], line["message"]) == ("root", 200, "principal=root status=200")
