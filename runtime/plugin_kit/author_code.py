"""The code of a plugin's author: finds and imports the modules of a project, its plugin classes and its cases."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from runtime.api.connector import Connector, SinkConnector, SourceConnector
from runtime.api.converter import Converter, HeaderConverter
from runtime.api.transformation import Predicate, Transformation
from runtime.plugin_kit.conformance.case import Case, PredicateCase, TransformationCase
from runtime.plugin_kit.errors import KitError, KitUsageError

CASES_FILE = "conformance.py"
"""The module with the list CASES, in the folder of the project or in its folder `tests`."""

PLUGIN_TYPES: tuple[type, ...] = (
    SourceConnector, SinkConnector, Transformation, Predicate, Converter, HeaderConverter,
)  # fmt: skip

_NOT_PLUGINS = ("tests", "test", "docs", "examples", "build", "dist", "venv", "setup", "conftest", "conformance")


@dataclass(frozen=True, slots=True)
class AuthorCode:
    """The plugins below a path. `folder` is the project's, `source` the one from which its modules are imported."""

    folder: Path
    source: Path
    plugins: tuple[type, ...]
    cases: tuple[Case, ...]
    cases_file: Path | None

    @property
    def expected_cases_file(self) -> Path:
        """Where cases belong."""
        tests = self.folder / "tests"
        return self.cases_file or (tests if tests.is_dir() else self.folder) / CASES_FILE

    @property
    def without_case(self) -> list[type]:
        """Plugins that no case covers."""
        covered = {case.plugin for case in self.cases}
        return [plugin for plugin in self.plugins if plugin not in covered]


def load(path: Path) -> AuthorCode:
    """Imports the plugins of a project folder, package or module. KitError if a module cannot be imported."""
    if not path.exists():
        raise KitUsageError(f"{path} does not exist: give the folder of a project or package, or the file of a module")
    path = path.resolve()
    folder, source, names = _modules(path)
    plugins = list(dict.fromkeys(cls for name in names for cls in plugin_classes(_imported(name))))
    cases_file = next((f for f in (folder / CASES_FILE, folder / "tests" / CASES_FILE) if f.is_file()), None)
    cases = () if cases_file is None else _cases(cases_file)
    if not plugins and not cases:
        if not names:
            raise KitUsageError(f"{path} has no plugin: neither this folder nor its src has a Python module")
        types = ", ".join(t.__name__ for t in PLUGIN_TYPES)
        raise KitUsageError(f"{path} has no plugin: {', '.join(names)} defines no subclass of {types}")
    covered = {case.plugin for case in cases}
    made = (_simple_case(plugin) for plugin in plugins if plugin not in covered)
    return AuthorCode(folder, source, tuple(plugins), (*cases, *filter(None, made)), cases_file)


def plugin_classes(module: ModuleType) -> Iterator[type]:
    """The plugin classes that a module exports and that it, or a module below it, defines."""
    for cls in list(vars(module).values()):
        if not isinstance(cls, type) or not issubclass(cls, PLUGIN_TYPES) or _is_base(cls):
            continue
        if f"{cls.__module__}.".startswith(f"{module.__name__}.") and not cls.__name__.startswith("_"):
            yield cls


def _is_base(cls: type) -> bool:
    return inspect.isabstract(cls) or (issubclass(cls, Connector) and not hasattr(cls, "task_class"))


def _modules(path: Path) -> tuple[Path, Path, list[str]]:
    """The folder of the project, that of its modules, which can be imported from now on, and their names."""
    if path.is_file():
        if path.suffix != ".py":
            raise KitUsageError(f"{path} is not a Python module")
        _search(path.parent)
        return path.parent, path.parent, [path.stem]
    if (path / "__init__.py").is_file():
        _search(path.parent)
        return (path.parent.parent if path.parent.name == "src" else path.parent), path.parent, [path.name]
    source = path / "src" if (path / "src").is_dir() else path
    _search(source)
    modules = [module.name for module in pkgutil.iter_modules([str(source)]) if module.name not in _NOT_PLUGINS]
    return path, source, modules


def _search(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except BaseException as error:  # third-party code
        raise KitError(f"the module {name} cannot be imported: {_place(error)}") from error


def _cases(file: Path) -> tuple[Case, ...]:
    """The list CASES of the module."""
    spec = importlib.util.spec_from_file_location(f"_{file.stem}_cases", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # third-party code
        raise KitError(f"{file} cannot be imported: {_place(error)}") from error
    cases = getattr(module, "CASES", None)
    if not isinstance(cases, list | tuple) or not all(isinstance(case, Case) for case in cases):
        raise KitUsageError(
            f"{file} has no list CASES of cases: write CASES = [SourceCase(connector=…)], see docs/plugins.md"
        )
    return tuple(cases)


def _simple_case(plugin: type) -> Case | None:
    """A case for a transformation or predicate that needs no configuration."""
    definition = getattr(plugin, "config_def", ())
    if any(key.required for key in definition):
        return None
    if issubclass(plugin, Transformation):
        return TransformationCase(transformation=plugin)
    if issubclass(plugin, Predicate):
        return PredicateCase(predicate=plugin)
    return None


def _place(error: BaseException) -> str:
    """The error and the last line of the author's own code in its traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
