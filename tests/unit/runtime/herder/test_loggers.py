"""Levels of loggers, as a client sees them change."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from runtime.herder.errors import NotFound
from runtime.herder.loggers import Loggers
from tests.support.never_called import NEVER_CALLED

NAME = "tests.levels"


@pytest.fixture
def loggers() -> Iterator[Loggers]:
    engine = SimpleNamespace(set_levels=lambda levels: None, set_level=lambda *_: None)
    before = logging.getLogger().level
    yield Loggers(NEVER_CALLED, cast("Any", engine), clock=lambda: 1.5)
    for name in (NAME, f"{NAME}.a", f"{NAME}.a.b", None):
        logging.getLogger(name).setLevel(before if name is None else logging.NOTSET)


def test_the_first_level_of_a_logger_is_a_change_even_if_it_equals_the_roots(loggers: Loggers) -> None:
    root = str(loggers.logger("root")["level"])
    assert loggers.set_here(NAME, root.lower()) == [NAME]
    assert loggers.logger(NAME) == {"level": root, "last_modified": 1500}
    assert loggers.set_here(NAME, root) == []


def test_setting_the_inherited_level_of_a_logger_is_not_a_change(loggers: Loggers) -> None:
    loggers.set_here(NAME, "DEBUG")
    assert loggers.set_here(f"{NAME}.a", "DEBUG") == []
    assert loggers.logger(f"{NAME}.a") == {"level": "DEBUG", "last_modified": None}
    assert f"{NAME}.a" not in loggers.all()
    assert loggers.set_here(NAME, "TRACE") == [NAME, f"{NAME}.a"], "inheriting loggers change, too"
    with pytest.raises(NotFound):
        loggers.logger(f"{NAME}.a.b")


def test_the_root_logger_is_found_in_any_spelling(loggers: Loggers) -> None:
    assert loggers.logger("ROOT") == loggers.logger("root")
