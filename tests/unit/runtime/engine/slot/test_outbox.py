"""Messages of a slot to the worker."""

from __future__ import annotations

import queue
import threading
from typing import Any

from runtime.engine.protocol.channel import encode
from runtime.engine.protocol.messages import FromSlot, TopicMessage
from runtime.engine.slot.outbox import MAX_LOG_LINES, Outbox
from tests.support.interrupted import runs_inside


class Channel:
    """A channel that sends into a queue, and can be delayed."""

    def __init__(self) -> None:
        self.sent: queue.SimpleQueue[FromSlot] = queue.SimpleQueue()
        self.open = threading.Event()
        self.open.set()

    def send(self, message: FromSlot) -> None:
        self.open.wait()
        self.sent.put(message)

    def next(self, op: str) -> Any:
        while (message := self.sent.get(timeout=5.0))["op"] != op:
            pass
        return message


def report(topic: str) -> TopicMessage:
    return {"op": "topic", "connector": "c", "task": 0, "epoch": 1, "topic": topic}


def test_a_slot_reports_immediately_and_repeatedly_that_it_is_alive() -> None:
    channel = Channel()
    Outbox(channel.send, alive_every=0.01).start()
    first, second = channel.next("alive"), channel.next("alive")
    assert first["memory"] > 0 and second["memory"] > 0


def test_reports_keep_their_order() -> None:
    channel = Channel()
    outbox = Outbox(channel.send, alive_every=60.0)
    for number in range(5000):
        outbox.put(report(f"t{number}"))
    outbox.start()
    assert [channel.next("topic")["topic"] for _ in range(5000)] == [f"t{number}" for number in range(5000)]


def test_log_lines_beyond_the_limit_are_dropped_and_their_number_is_logged() -> None:
    channel = Channel()
    outbox = Outbox(channel.send, alive_every=60.0)
    for number in range(MAX_LOG_LINES + 7):
        outbox.log("INFO", "plugin", f"line {number}", "[c|task-0]")
    outbox.put(report("t"))
    outbox.start()
    assert channel.next("log")["message"] == "line 0"
    assert channel.next("log")["message"].startswith("7 log lines were dropped")
    assert channel.next("topic"), "a report is never dropped"


def test_code_that_the_collector_runs_meanwhile_may_log() -> None:
    outbox = Outbox(Channel().send, alive_every=1)
    assert runs_inside(
        lambda: outbox.log("INFO", "a", "inner", ""), Outbox.log, lambda: outbox.log("INFO", "a", "", "")
    )


def test_a_message_that_is_too_long_is_left_out_and_the_slot_lives_on() -> None:
    channel = Channel()

    def send(message: FromSlot) -> None:
        encode(message)
        channel.send(message)

    outbox = Outbox(send, alive_every=60.0)
    outbox.put(report("t" * (64 << 20)))
    outbox.put(report("next"))
    outbox.start()
    line = channel.next("log")["message"]
    assert line.startswith("The message topic of task c-0 is left out: a frame of ")
    assert channel.next("topic")["topic"] == "next"
