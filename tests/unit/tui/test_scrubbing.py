"""Typed commands are shown without their secrets."""

from __future__ import annotations

import pytest

from tui.scrubbing import scrubbed_line


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("patch connector x -s db.password=hunter2 -s a=b", "patch connector x -s db.password=[hidden] -s a=b"),
        ("patch connector x -s 'db.password=hun ter2' -r y", "patch connector x -s db.password=[hidden] -r y"),
        ('patch connector x -s "db.password=hun\\"ter 2"', "patch connector x -s db.password=[hidden]"),
        ("patch connector x -s 'db.password=hunter 2", "patch connector x -s db.password=[hidden]"),
        ("patch connector x -s db.password=${file:/a:b}", "patch connector x -s db.password=${file:/a:b}"),
        (
            "config set-context p --token hunter2 --url http://me:hunter2@h",
            "config set-context p --token [hidden] --url http://h",
        ),
        ("config set-context p --header Authorization=hunter2", "config set-context p --header Authorization=[hidden]"),
        ("patch offsets n '{\"a\": 1}' --reason 'the key'", "patch offsets n '{\"a\": 1}' --reason 'the key'"),
        ("stop 'a b' c\\ d", "stop 'a b' c\\ d"),
    ],
)
def test_a_typed_line_is_shown_without_its_secrets(line: str, shown: str) -> None:
    assert scrubbed_line(line) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("patch connector a -s pin=4711 -r x", "patch connector a -s pin=[hidden] -r x"),
        ("patch connector a -spin=4711 --set=salt=4711", "patch connector a -spin=[hidden] --set=salt=[hidden]"),
        ("patch connector a --set 'pin=47 11' -s=a=4711", "patch connector a --set pin=[hidden] -s=a=[hidden]"),
        ("patch connector a -s -s=4711 -s a.token=4711", "patch connector a -s -s=[hidden] -s a.token=[hidden]"),
        ("patch connector a -s pin=${file:/a:b}", "patch connector a -s pin=${file:/a:b}"),
        ("config set-context p --header X=4711 --client-config=a=4711",
         "config set-context p --header X=[hidden] --client-config=a=[hidden]"),
        ("patch connector a -s tasks.max=2 -s consumer.override.max.poll.records=1 -s errors.retry.timeout=9",
         "patch connector a -s tasks.max=2 -s consumer.override.max.poll.records=1 -s errors.retry.timeout=9"),
        ("patch connector a -s consumer.override.sasl.jaas.config=4711 -s transforms.t.pin=4711 -s topics=http://u:p@h",
         "patch connector a -s consumer.override.sasl.jaas.config=[hidden] -s transforms.t.pin=[hidden] -s topics=http://h"),
        ("patch logger root -l INFO -s cluster", "patch logger root -l INFO -s cluster"),
    ],
)  # fmt: skip
def test_values_of_settings_are_hidden_whatever_their_key(line: str, shown: str) -> None:
    assert scrubbed_line(line, settings=True) == shown
