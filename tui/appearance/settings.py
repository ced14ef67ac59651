"""The user's settings: `config.toml` in the XDG config folder.

theme = "headrace-light"

[keys]                     # by the id that the help shows; several keys separated by commas
stop = "S"
filter = "slash,ctrl+f"

[[rules]]                  # see docs/watch.md
when = "failed"

[[commands]]               # see `own_commands`
key = "g"
run = "xdg-open https://grafana.example/d/connect?var-connector={name}"
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tui import private_file

FILE = "config.toml"


class Settings(NamedTuple):
    """The file's content; `keys` maps ids of bindings to keys, `rules` has the tables of `tui.watch.rules`, `commands`
    those of `own_commands`."""

    theme: str = ""
    keys: Mapping[str, str] = {}
    rules: tuple[Any, ...] = ()
    commands: tuple[Any, ...] = ()


def load(folder: Path) -> tuple[Settings, list[str]]:
    """The valid settings of the file, and a problem for each invalid one."""
    file = folder / FILE
    try:
        text = private_file.read(file, "utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return Settings(), []
    except (OSError, UnicodeDecodeError) as error:
        return Settings(), [f"cannot read {file}: {error}"]
    import tomllib

    try:
        return _settings(file, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        return Settings(), [f"{file} is not TOML: {error}"]


def _settings(file: Path, content: Mapping[str, Any]) -> tuple[Settings, list[str]]:
    unknown = [key for key in content if key not in ("theme", "keys", "rules", "commands", "promote")]
    problems = [
        f"{file} has the unknown key {key!r}; expected theme, [keys], [[rules]], [[commands]] and [promote.CONTEXT]"
        for key in unknown
    ]
    theme, keys = content.get("theme", ""), content.get("keys", {})
    if not isinstance(theme, str):
        problems.append(f"{file}: theme must be text")
        theme = ""
    if not isinstance(keys, dict):
        problems.append(f"{file}: keys must be a table")
        keys = {}
    for name in [name for name, value in keys.items() if not isinstance(value, str)]:
        problems.append(f'{file}: [keys] {name} must be text, for example {name} = "S"')
        del keys[name]
    rules = content.get("rules", [])
    if not isinstance(rules, list):
        problems.append(f"{file}: rules must be tables: [[rules]]")
        rules = []
    commands = content.get("commands", [])
    if not isinstance(commands, list):
        problems.append(f"{file}: commands must be tables: [[commands]]")
        commands = []
    return Settings(theme, keys, tuple(rules), tuple(commands)), problems
