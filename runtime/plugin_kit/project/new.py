"""Writes a project with a working plugin, its tests and an example."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.plugin_kit.errors import KitUsageError

_TEMPLATES = Path(__file__).parent / "templates"
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_LONGEST_NAME = 30
_SUFFIX, _VERSION = ".tmpl", "version"
_SYNC = {"async": "", "await": "", "Async": ""}
"""Words that only tasks with coroutines have."""


@dataclass(frozen=True, slots=True)
class ProjectKind:
    """A kind of project: its templates, and words for its texts."""

    name: str
    templates: tuple[str, ...]
    what: str
    summary: str
    next_steps: tuple[str, ...]


_RUN_SOURCE = "headrace plugin run . example.json --records 5"
_RUN_RECORDS = "headrace plugin run . example.json --input records.jsonl"

KINDS: dict[str, ProjectKind] = {
    "source": ProjectKind(
        "source", ("common", "source"), "source connector",
        "Reads the measurements of a station into a topic.", (_RUN_SOURCE,),
    ),
    "sink": ProjectKind(
        "sink", ("common", "sink"), "sink connector",
        "Writes the records of topics to a table.", (_RUN_RECORDS,),
    ),
    "transform": ProjectKind(
        "transform", ("common", "transform"), "transformation",
        "Adds a field to records.", (_RUN_RECORDS,),
    ),
    "converter": ProjectKind(
        "converter", ("common", "converter"), "converter",
        "Converts maps of texts to the format of HTML forms and back.", (_RUN_RECORDS,),
    ),
}  # fmt: skip
"""By the option's name."""


def new_project(name: str, kind: str, is_async: bool, parent: Path) -> tuple[Path, Sequence[Path]]:
    """Writes the project into a new folder below `parent`. Returns the folder and its files. KitUsageError if the name
    is unsuitable or the folder exists."""
    chosen = KINDS[kind]
    if is_async and kind not in ("source", "sink"):
        raise KitUsageError(f"--async is for --source and --sink: a {chosen.what} has no coroutines")
    package = _package(name)
    folder = parent / name
    if folder.exists():
        raise KitUsageError(f"{folder} exists already, and nothing was written: choose another name, or remove it")
    words = {
        "name": name.replace("_", "-"),
        "package": package,
        "module": (module := _module(package, kind)),
        "Class": "".join(part.capitalize() for part in _stem(package, kind)),
        "summary": chosen.summary,
        "kind": chosen.what,
        "file": f"src/{package}/{module}.py",
        "run": chosen.next_steps[0],
        **({"async": "async ", "await": "await ", "Async": "Async"} if is_async else _SYNC),
    }
    texts = dict(_texts(chosen.templates, words))
    for file, text in texts.items():
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    return folder, sorted(map(Path, texts))


def _package(name: str) -> str:
    """The name of the package. KitUsageError if it cannot be one."""
    package = name.replace("-", "_")
    if package == _VERSION:
        raise KitUsageError(f"{name!r} is not a suitable name: the project has a module version of its own")
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name) or keyword.iskeyword(package):
        raise KitUsageError(
            f"{name!r} is not a suitable name: use lower-case letters and digits, joined by hyphens, such as "
            f"river-levels (at most {_LONGEST_NAME} characters)"
        )
    if package in sys.stdlib_module_names or importlib.util.find_spec(package) is not None:
        raise KitUsageError(f"{name!r} is not a suitable name: a Python module named {package} exists already")
    return package


def _stem(package: str, kind: str) -> list[str]:
    """The parts of the name without the kind, which is a part of the class's name anyway."""
    parts = package.split("_")
    return parts[:-1] if len(parts) > 1 and parts[-1] == kind and kind != "transform" else parts


def _module(package: str, kind: str) -> str:
    """The module of the plugin is named as its class."""
    return "_".join([*_stem(package, kind), *([] if kind == "transform" else [kind])])


def _texts(templates: Sequence[str], words: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Paths and contents of the files."""
    for template in templates:
        root = _TEMPLATES / template
        for file in sorted(root.rglob(f"*{_SUFFIX}")):
            path = file.relative_to(root).as_posix().removesuffix(_SUFFIX)
            named = path.replace("src/package/", f"src/{words['package']}/").replace("module.", f"{words['module']}.")
            yield named, _filled(file.read_text("utf-8"), words)


def _filled(text: str, words: dict[str, str]) -> str:
    """The words are in place of `@word@`; lines that begin with `@onlyasync@` or `@onlysync@` are for one form."""
    other, own = ("sync", "async") if words["async"] else ("async", "sync")
    text = re.sub(f"^@only{other}@.*\n", "", text, flags=re.MULTILINE).replace(f"@only{own}@", "")
    return re.sub("@([a-zA-Z]+)@", lambda match: words.get(match[1], match[0]), text)
