"""Every bundled plugin passes the conformance suite."""

from __future__ import annotations

import pytest

from runtime.plugin_kit import Check, checks
from runtime.plugins.registry import BUNDLED, load_target
from tests.conformance.cases import CASES


@pytest.mark.parametrize("check", checks(CASES), ids=str)
def test_conformance(check: Check) -> None:
    check.require()


IN_WORKERS = {
    "headrace.KafkaQueryConnector": "tests/scenario/spark/test_spark_query.py",
    "headrace.PostgresCdcSourceConnector": "tests/unit/runtime/connectors/postgres/test_source.py",
    "headrace.SparkSinkConnector": "tests/scenario/spark/test_spark_sink.py",
    "headrace.SparkSourceConnector": "tests/scenario/spark/test_spark_source.py",
    "headrace.SparkSql": "tests/scenario/spark/test_spark_sql.py",
}
"""Plugins that need a worker, such as its Spark session, or a server, and their tests."""


def test_every_bundled_plugin_has_a_case() -> None:
    covered = {case.plugin for case in CASES}
    missing = [name for name, target, _ in BUNDLED if load_target(target) not in covered]
    assert missing == list(IN_WORKERS)


def test_cases_have_different_names() -> None:
    assert len({case.title for case in CASES}) == len(CASES)
