"""Runs files, and the tests of each file, in a random order: a plugin of pytest (`-p tests.random_order`).

The order follows from `--order-seed`, so that a failure can be repeated, and so that all processes have the same order.
"""

from __future__ import annotations

import random
from itertools import groupby

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order-seed", type=int, default=0, help="the seed of the order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items[:] = shuffled(items, config.getoption("--order-seed"))


def pytest_report_header(config: pytest.Config) -> str:
    return f"random order: --order-seed={config.getoption('--order-seed')}"


def shuffled(items: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """The tests of a file stay together, since they share servers."""
    order = random.Random(seed)
    files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
    order.shuffle(files)
    for tests in files:
        order.shuffle(tests)
    return [test for tests in files for test in tests]
