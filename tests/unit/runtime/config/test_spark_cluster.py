"""Which Spark masters a worker accepts, and what must be encrypted."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConfigError
from runtime.config.spark_cluster import bind_address, check_cluster, driver_host, executor_size_of
from runtime.model.executor_size import ExecutorSize

ENCRYPTED = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
SECRET = {"spark.authenticate.secret": "s"}
OTHER = {"spark.driver.host": "10.0.0.5"}


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"spark.master": "local[4]"},
        {"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1"},
        {"spark.master": "spark://m:7077", "spark.driver.host": "[::1]"},
        {"spark.master": "spark://m:7077", **OTHER, **ENCRYPTED, **SECRET},
        {"spark.master": "yarn", **OTHER, "spark.authenticate": "true", "spark.ssl.rpc.enabled": "true"},
        {"spark.master": "k8s://https://c:6443", **OTHER, **ENCRYPTED},
    ],
)
def test_accepted(properties: dict[str, str]) -> None:
    check_cluster(properties)


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"spark.master": "mesos://m"}, "spark.master=mesos://m is not supported"),
        ({"spark.master": "local-cluster[2,1,1024]", **OTHER}, "is not supported"),
        ({"spark.master": "yarn"}, "spark.driver.host"),
        ({"spark.master": "spark://m:7077", **OTHER}, "spark.network.crypto.enabled=true or spark.ssl.rpc.enabled"),
        ({"spark.master": "yarn", **OTHER}, "spark.authenticate=true"),
        ({"spark.master": "yarn", **OTHER, "spark.authenticate": "true"}, "spark.network.crypto.enabled"),
        ({"spark.master": "yarn", **OTHER, "spark.network.crypto.enabled": "true"}, "spark.authenticate"),
        ({"spark.master": "spark://m:7077", **OTHER, **ENCRYPTED}, "spark.authenticate.secret"),
        ({"spark.master": "yarn", "spark.submit.deployMode": "cluster"}, "spark.submit.deployMode"),
    ],
)
def test_refused_with_the_settings_to_change(properties: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_cluster(properties)
    assert named in str(refused.value)


def test_the_addresses_are_those_of_sparks_driver() -> None:
    assert driver_host(OTHER) == bind_address(OTHER) == "10.0.0.5"
    assert bind_address({**OTHER, "spark.driver.bindAddress": "0.0.0.0"}) == "0.0.0.0"


def test_the_size_of_a_dedicated_slots_executor() -> None:
    assert executor_size_of({}) == ExecutorSize(0, 0)
    assert executor_size_of({}, java_heap=100).memory == 356, (
        "the JVM for Java plugins and what it needs beside its heap"
    )
    given = {"headrace.executor.cores": "2", "headrace.executor.memory.mb": "700"}
    assert executor_size_of(given, java_heap=100) == ExecutorSize(700, 2)
