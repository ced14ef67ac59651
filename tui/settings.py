"""What a user has set apart from contexts: `config.toml` in the XDG config folder.

theme = "headrace-light"

[keys]                     # by the id that the help shows; several keys with commas
stop = "S"
filter = "slash,ctrl+f"
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tui.errors import HeadraceError

FILE = "config.toml"


class Settings(NamedTuple):
    """The file's content; `keys` maps ids of bindings to keys."""

    theme: str = ""
    keys: Mapping[str, str] = {}


def load(folder: Path) -> Settings:
    """Raises HeadraceError naming the file and the key when something in it cannot be."""
    file = folder / FILE
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise HeadraceError(f"cannot read {file}: {error}") from error
    import tomllib

    try:
        return _settings(file, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise HeadraceError(f"{file} is not TOML: {error}") from error


def _settings(file: Path, content: Mapping[str, Any]) -> Settings:
    for key, value in content.items():
        if key not in ("theme", "keys"):
            raise HeadraceError(f"{file} has the unknown key {key!r}", "there are theme and [keys]")
        if not isinstance(value, str if key == "theme" else dict):
            raise HeadraceError(f"{file}: {key} must be {'text' if key == 'theme' else 'a table'}")
    keys = content.get("keys", {})
    for name, value in keys.items():
        if not isinstance(value, str):
            raise HeadraceError(f'{file}: [keys] {name} must be text, as in {name} = "S"')
    return Settings(str(content.get("theme", "")), keys)
