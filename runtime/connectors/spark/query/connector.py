"""KafkaQuery writes the results of a streaming query over topics to a topic."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from runtime.api.config.definition import ConfigValue
from runtime.connectors.spark.config_keys import SQL
from runtime.connectors.spark.query.definition import (
    CONFIG,
    TABLES,
    TOPICS,
    KafkaQuerySettings,
    client_settings,
    prefixed_errors,
)
from runtime.connectors.spark.query.topic_ranges import TopicsUnreachableError, missing_topics
from runtime.connectors.spark.session_client import CHECK_QUERY, SOCKET, SessionClient, SparkRequestError
from runtime.connectors.spark.source.connector import SparkSourceConnector
from runtime.connectors.spark.source.task import BatchedSource, SparkSourceTask

_CHECK_TIMEOUT = 15.0  # seconds for the check of a query, of the 30 that a validation may take


class KafkaQueryTask(SparkSourceTask):
    """Reads the batches of the query."""

    def _settings_of(self, config: Mapping[str, str]) -> BatchedSource:
        return KafkaQuerySettings.of(config)


class KafkaQueryConnector(SparkSourceConnector):
    """Has one task, as SparkSource has: Spark divides the work of a batch."""

    java_name = "headrace.KafkaQueryConnector"
    task_class = KafkaQueryTask
    config_def = CONFIG

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """As for the definition; if that is valid, the topics must exist, and Spark must accept the query."""
        values = super().validate(config)
        by_name = {value.name: value for value in values}
        if any(value.errors for value in values):
            return values
        topics, tables = by_name[TOPICS].value, by_name[TABLES].value
        errors = prefixed_errors(config, [*topics, *tables]) or _missing(config, topics, tables) or _refused(config)
        for name, error in errors.items():
            by_name[name].errors.append(error)
        return values

    def _source_name(self, config: Mapping[str, str]) -> str:
        return KafkaQuerySettings.of(config).source_name


def _missing(config: Mapping[str, str], topics: list[str], tables: list[str]) -> dict[str, str]:
    """Topics that do not exist. Where no broker responds, the task reports it."""
    try:
        missing = missing_topics(client_settings(config).admin, [*topics, *tables])
    except TopicsUnreachableError:
        return {}
    return {
        key: f"Topic {name} does not exist, or the credentials do not allow to describe it"
        for key, names in ((TOPICS, topics), (TABLES, tables))
        for name in names
        if name in missing
    }


def _refused(config: Mapping[str, str]) -> dict[str, str]:
    """What Spark finds wrong with the query. Where no Spark is running, the task finds it."""
    if SOCKET not in os.environ:
        return {}
    request = {"op": CHECK_QUERY, "connector": config.get("name", "query"),
               "source": KafkaQuerySettings.of(config).source()}  # fmt: skip
    client = SessionClient("kafka-query-check")
    try:
        client.send(lambda: request).result(_CHECK_TIMEOUT)
    except SparkRequestError as error:
        if error.kind == "query":
            return {SQL: str(error)}
    except TimeoutError:  # Spark is busy
        pass
    finally:
        with contextlib.suppress(OSError):
            client.close()
    return {}
