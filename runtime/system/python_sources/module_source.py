"""The facts about a Python module that its source states: classes, imported names, constants. Nothing is imported."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

MAX_SIZE = 4_000_000
"""Bytes of the largest source that is read."""


class UnreadableSourceError(Exception):
    """The file cannot be read or is not valid Python."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a version is assigned from: its text, the name of a constant, or the version of a distribution."""

    text: str | None = None
    name: str | None = None
    distribution: str | None = None


@dataclass(frozen=True, slots=True)
class ClassSource:
    """A class statement. Base classes are dotted names as written; None for any other expression."""

    bases: tuple[str | None, ...]
    members: frozenset[str]  # names that the body defines, abstract methods excepted
    abstract: frozenset[str]
    version: Version | None  # returned by version()
    label: Version | None = None  # returned by name()


@dataclass(slots=True)
class ModuleSource:
    """The names at the top level of a module, in order of their definition."""

    classes: dict[str, ClassSource] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)  # by name: module, and name in it
    stars: list[str] = field(default_factory=list)  # modules from which all names are imported
    aliases: dict[str, str] = field(default_factory=dict)  # names assigned from other names
    constants: dict[str, Version] = field(default_factory=dict)
    exported: tuple[str, ...] | None = None  # __all__
    bound: dict[str, None] = field(default_factory=dict)  # all names, also of functions and assigned ones

    @property
    def names(self) -> list[str]:
        """All names that may refer to classes."""
        return list(dict.fromkeys([*self.classes, *self.imports, *self.aliases]))


def read_module(path: Path, name: str, is_package: bool) -> ModuleSource:
    """The facts about a source file; read again only if its size or time has changed. UnreadableSourceError."""
    try:
        stat = path.stat()
        return _read(path, name, is_package, stat.st_size, stat.st_mtime_ns)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableSourceError(f"{type(error).__name__}: {error}") from None


@lru_cache(maxsize=4096)
def _read(path: Path, name: str, is_package: bool, size: int, changed: int) -> ModuleSource:
    if size > MAX_SIZE:
        raise ValueError(f"the file has {size} bytes, more than {MAX_SIZE}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the plugin's code
        tree = ast.parse(path.read_bytes(), str(path))
    source = ModuleSource()
    package = name if is_package else name.rpartition(".")[0]
    for statement in _statements(tree.body):
        _add(source, statement, package)
        source.bound.update(dict.fromkeys(_bound(statement)))
    return source


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements at the top level of a module, also in its `if`, `try` and `with` blocks."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.TryStar | ast.With):
            yield from _statements(statement.body)
        if isinstance(statement, ast.If | ast.Try | ast.TryStar):
            yield from _statements(statement.orelse)
        if isinstance(statement, ast.Try | ast.TryStar):
            for handler in statement.handlers:
                yield from _statements(handler.body)
            yield from _statements(statement.finalbody)


def _add(source: ModuleSource, statement: ast.stmt, package: str) -> None:
    match statement:
        case ast.ClassDef():
            source.classes[statement.name] = _class(statement)
        case ast.Import():
            for alias in statement.names:
                bound = alias.asname or alias.name.partition(".")[0]
                source.imports[bound] = (alias.name if alias.asname else bound, None)
        case ast.ImportFrom():
            module = _absolute(statement, package)
            for alias in statement.names:
                if alias.name == "*":
                    source.stars.append(module)
                else:
                    source.imports.setdefault(alias.asname or alias.name, (module, alias.name))
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            _assign(source, name, value)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            _assign(source, name, value)
        case _:
            pass


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, except with a star."""
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case _:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _assign(source: ModuleSource, name: str, value: ast.expr) -> None:
    if name == "__all__" and isinstance(value, ast.List | ast.Tuple):
        source.exported = tuple(e.value for e in value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str))
    elif (version := _version(value)) is not None:
        source.constants[name] = version
        if version.name is not None:
            source.aliases[name] = version.name


def _absolute(statement: ast.ImportFrom, package: str) -> str:
    """The name of the module that is imported from."""
    if not statement.level:
        return statement.module or ""
    parts = package.split(".")
    parent = parts[: len(parts) - (statement.level - 1)]
    return ".".join([*parent, *([statement.module] if statement.module else [])])


def _class(statement: ast.ClassDef) -> ClassSource:
    members: set[str] = set()
    abstract: set[str] = set()
    version = label = None
    for inner in statement.body:
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            (abstract if any(_is_abstract(d) for d in inner.decorator_list) else members).add(inner.name)
            if inner.name == "version":
                version = _returned(inner)
            if inner.name == "name":
                label = _returned(inner)
        elif isinstance(inner, ast.Assign):
            members.update(target.id for target in inner.targets if isinstance(target, ast.Name))
        elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name) and inner.value is not None:
            members.add(inner.target.id)
    bases = tuple(_dotted(base.value if isinstance(base, ast.Subscript) else base) for base in statement.bases)
    return ClassSource(bases, frozenset(members), frozenset(abstract), version, label)


def _is_abstract(decorator: ast.expr) -> bool:
    return (_dotted(decorator) or "").rpartition(".")[2] in ("abstractmethod", "abstractproperty")


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Version:
    """What version() returns; empty if that is known only at run time."""
    body = [s for s in function.body if not isinstance(s, ast.Expr | ast.Import | ast.ImportFrom)]
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        return _version(body[0].value) or Version()
    return Version()


def _version(value: ast.expr) -> Version | None:
    match value:
        case ast.Constant(value=str(text)):
            return Version(text=text)
        case ast.Name() | ast.Attribute():
            return Version(name=_dotted(value))
        case ast.Call(func=function, args=[ast.Constant(value=str(distribution))]) if (
            _dotted(function) or ""
        ).rpartition(".")[2] == "version":
            return Version(distribution=distribution)
        case _:
            return None


def _dotted(expression: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    return ".".join([expression.id, *reversed(parts)]) if isinstance(expression, ast.Name) else None
