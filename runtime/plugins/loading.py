"""Imports plugin classes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from types import ModuleType


def import_module(name: str, folders: Sequence[str]) -> ModuleType:
    """Imports a module by name. These folders are searched last, so that they cannot replace installed modules."""
    if missing := [folder for folder in folders if folder not in sys.path]:
        sys.path.extend(missing)
        importlib.invalidate_caches()
    return importlib.import_module(name)


def load_target(target: str, plugin_path: Sequence[str] = ()) -> type:
    """Imports the class "package.module:Class", also from the folders of `plugin.path`."""
    module, _, qualname = target.partition(":")
    loaded: object = import_module(module, plugin_path)
    for part in qualname.split("."):
        loaded = getattr(loaded, part)
    if not isinstance(loaded, type):
        raise TypeError(f"{target} is not a class")
    return loaded
