"""Spark's Python daemon, with what every slot needs imported before it forks: slots start sooner and share memory.

Modules that start threads at import must not be among it: threads do not survive the fork.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import traceback
from collections.abc import Iterator

from runtime.engine.descriptors import raise_limit

PRELOAD = "HEADRACE_SLOT_RUNNER"
"""Environment variable: the module of the task runner."""


def main() -> None:
    raise_limit()
    gc.disable()  # while nothing but imports happens
    from pyspark.daemon import manager

    for module in modules():
        try:
            importlib.import_module(module)
        except ImportError:
            traceback.print_exc()  # the slot meets it again and says so
    gc.collect()
    gc.freeze()  # the collector would write into the shared pages
    gc.enable()
    manager()


def modules() -> Iterator[str]:
    """Spark's worker, ours, the Kafka client and the bundled plugins."""
    yield from ("pyspark.worker", "runtime.engine.slot", "confluent_kafka", os.environ[PRELOAD])
    yield from ("runtime.pipeline.source", "runtime.pipeline.sink")  # the runner imports them when it needs them
    for name in ("runtime.connectors", "runtime.converters"):
        package = importlib.import_module(name)
        yield from (f"{name}.{module.name}" for module in pkgutil.iter_modules(package.__path__))


if __name__ == "__main__":
    main()
