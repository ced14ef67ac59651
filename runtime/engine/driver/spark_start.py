"""Starts Spark, a JVM and a context in it: in the driver for its slots, and in the process of the Spark session."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.config.spark_cluster import is_local
from runtime.engine.driver.gateway import LocalJvm, is_direct, name_unknown_user, submitted, without_numpy_converters
from runtime.engine.driver.jvm import java_options, spark_properties, write_log_settings

_SENDING = "Exception while sending command."  # which Py4J logs, with a stack, for each thread when the JVM has ended


def start_spark(
    java: Path, conf: Mapping[str, str], master: str, folder: Path, sockets: Path, options: Sequence[str],
    launched: Callable[[Any], None], slots: bool = True,
) -> Any:  # fmt: skip
    """The context. `conf`: the operator's properties, with the jars of packages. `folder`: of this JVM. `sockets`: a
    folder with a short path. `options` of a local JVM. `launched` gets the gateway to it, before there is a context.
    `slots`: whether the application has slots."""
    logging.getLogger().addFilter(lambda record: record.msg != _SENDING)
    local = is_local(master)
    properties = spark_properties(conf, master, folder, sockets, slots)
    options = java_options(conf, local, folder, options)
    write_log_settings(folder)
    jvm = LocalJvm(java, folder, properties, options) if is_direct(conf, local) else None
    from pyspark import SparkConf, SparkContext  # while the JVM starts

    gateway = submitted(folder, properties, options) if jvm is None else jvm.connect()
    launched(gateway)
    without_numpy_converters()
    spark = SparkConf(_jvm=gateway.jvm)
    if jvm is not None:  # spark-submit has set them itself
        spark.setAll(list(properties.items()))
    name_unknown_user(gateway.jvm)
    return SparkContext(gateway=gateway, conf=spark)
