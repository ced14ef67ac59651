"""Spark's Python daemon, which imports the modules of every slot before it forks: slots start sooner and share memory.

Modules that start threads at import must not be imported here: threads do not survive the fork.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import pkgutil
import sys
import traceback
import zipimport
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from runtime.engine.protocol.descriptors import raise_limit

PRELOAD = "HEADRACE_SLOT_RUNNER"
"""Environment variable: the module of the task runner."""


def main() -> None:
    """Import the modules of slots, then run Spark's daemon."""
    raise_limit()
    _prefer_compiled()
    gc.disable()  # during the imports
    from pyspark.daemon import manager

    for module in modules():
        try:
            importlib.import_module(module)
        except ImportError:
            traceback.print_exc()  # the slot reports it when it imports the module itself
    gc.collect()
    gc.freeze()  # the collector would write into the shared pages
    gc.enable()
    manager()


def _prefer_compiled() -> None:
    """Prefer installed packages to Spark's own archives, which Spark puts first on the path: modules from archives are
    compiled again at each start, which takes a second of processor time. Spark also adds the jar of its core, whose
    directory each slot would read: 7 MB."""
    archives = [path for path in sys.path if path.endswith((".zip", ".jar")) and "pyspark" in Path(path).parts]
    sys.path[:] = [path for path in sys.path if path not in archives]
    _forget(archives)
    if importlib.util.find_spec("pyspark") is None or importlib.util.find_spec("py4j") is None:
        sys.path.extend(archives)


def _forget(archives: Sequence[str]) -> None:
    """Forget the directories of the archives, 7,500 names, which each slot would read again: Spark invalidates the
    caches of all finders. Python's pickle looks for Jython's `org.python`: the jar's `org` then counts as a package."""
    prefixes = tuple(f"{archive}{os.sep}" for archive in archives)
    for name, module in list(sys.modules.items()):
        if any(str(path).startswith(prefixes) for path in getattr(module, "__path__", ())):
            del sys.modules[name]
    for path in list(sys.path_importer_cache):
        if path in archives or path.startswith(prefixes):
            del sys.path_importer_cache[path]
    directories: dict[str, object] = getattr(zipimport, "_zip_directory_cache", {})
    for archive in archives:
        directories.pop(archive, None)


def modules() -> Iterator[str]:
    """Spark's worker, the slot, the Kafka client and the bundled plugins, except packages with `PRELOADED = False`:
    only their own tasks need their libraries."""
    yield from ("pyspark.worker", "runtime.engine.slot.slot", "confluent_kafka", os.environ[PRELOAD])
    for name in ("runtime.pipeline.source", "runtime.pipeline.sink", "runtime.connectors", "runtime.converters"):
        package = importlib.import_module(name)
        yield from _modules_of(package)


def _modules_of(package: ModuleType) -> Iterator[str]:
    if not getattr(package, "PRELOADED", True):
        return
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if module.ispkg:
            yield from _modules_of(importlib.import_module(module.name))
        else:
            yield module.name


if __name__ == "__main__":
    main()
