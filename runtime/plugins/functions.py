"""Functions of users, which headrace.PythonUdf calls: the modules that may have them, and checks without imports."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runtime.plugins.plugin import Plugin
from runtime.plugins.registry import PluginRegistry
from runtime.system.python_sources.class_sources import ClassSources
from runtime.system.python_sources.module_source import UnreadableSourceError
from runtime.transforms.python_udf.reference import FunctionReference, no_function


def function_modules(text: str, registry: PluginRegistry) -> Sequence[Plugin]:
    """The modules that a configured function may be in: one for each environment with such a module. Code elsewhere,
    such as that of Python's own modules, is never run."""
    reference = FunctionReference.of(text)
    return [] if reference is None else registry.modules(reference.module)


def function_problem(text: str, registry: PluginRegistry) -> str:
    """The reason why a configured function cannot exist, as far as sources tell; empty if there is none. Nothing is
    imported."""
    reference = FunctionReference.of(text)
    if reference is None:
        return ""  # a validator reports it
    modules = registry.modules(reference.module)
    if not modules:
        return (
            f"There is no module {reference.module} in plugin.path or its environments. After adding one, reload the "
            "plugins; a module among the worker's own packages needs an entry point of the group headrace.functions"
        )
    environment = registry.catalog.environments.get(modules[0].environment)
    folders = () if environment is None else environment.folders
    sources = ClassSources([*folders, *sys.path, *registry.plugin_path])
    if sources.file(reference.module) is None:
        return f"There is no module {reference.module}, though there is {modules[0].cls}"
    try:
        source = sources.source(reference.module)
    except UnreadableSourceError as error:
        return f"The module {reference.module} cannot be read: {error}"
    if source is None or source.stars or reference.name.partition(".")[0] in source.bound:
        return ""
    return no_function(reference, list(source.bound))
