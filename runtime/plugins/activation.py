"""Makes the environment of a plugin the first place from which this process imports."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from runtime.api.errors import ConfigError
from runtime.model.environment import Environment
from runtime.plugins.environments import unpacked_archive

_log = logging.getLogger(__name__)

_OWN = {"runtime", "tui"}
_lock = threading.Lock()
_entered: list[Environment] = []  # at most one


def enter(environment: Environment | None) -> None:
    """Search the environment's folders first from now on. Thread-safe; does nothing for None, or when called again.

    ConfigError if the process is in another environment, or if the environment is missing. Libraries that the process
    has already imported stay as they are; a warning names those that the environment brings, too."""
    if environment is None:
        return
    with _lock:
        if _entered:
            if _entered[0].id != environment.id:
                raise ConfigError(
                    f"This process runs plugins of the environment {_entered[0].id}, not of {environment.id}"
                )
            return
        folders = _folders(environment)
        if shared := sorted({*_top_level(folders)} & ({name.partition(".")[0] for name in sys.modules} - _OWN)):
            _log.warning(
                "The plugin environment %s brings %s, which the worker itself has loaded: the worker's version is used",
                environment.id, ", ".join(shared),
            )  # fmt: skip
        sys.path[:0] = folders
        importlib.invalidate_caches()
        _entered.append(environment)


def _folders(environment: Environment) -> list[str]:
    complete = all(Path(folder).is_dir() for folder in environment.folders)
    if complete and (environment.folders or not environment.archive):
        return list(environment.folders)
    if environment.archive and Path(environment.archive).is_file():
        return [str(unpacked_archive(environment))]
    raise ConfigError(f"The plugin environment {environment.id} is missing: {', '.join(environment.folders)}")


def _top_level(folders: list[str]) -> Iterator[str]:
    for folder in folders:
        for entry in Path(folder).iterdir():
            if entry.is_dir() and entry.name.isidentifier():
                yield entry.name
            elif entry.suffix in (".py", ".so", ".pyd"):
                yield entry.name.partition(".")[0]
