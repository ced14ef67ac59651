"""Themes: TOML files of `themes/` and of the user's `themes` folder, as Textual themes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from textual.theme import Theme as TextualTheme

from tui.errors import HeadraceError

DEFAULT = "headrace-dark"
PAPER = ("background", "surface", "panel", "cursor", "selection")
INK = ("foreground", "muted", "accent", "border", "success", "warning", "error")
STATE = ("failed", "unassigned", "restarting", "running", "paused", "stopped", "unknown")
JSON = ("key", "string", "number", "literal")
_SECTIONS = {"paper": PAPER, "ink": INK, "state": STATE, "json": JSON}
ANSI = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_COLOUR = re.compile(rf"#[0-9a-fA-F]{{6}}|ansi_(bright_)?({'|'.join(ANSI)})")
_FEW_COLOURS = re.compile(r"linux|ansi|cons25|vt\d+|.*-16color|rxvt|screen")


class Theme(NamedTuple):
    """One file's content. `colours` holds `ink.muted`, `state.failed` and so on, all of them present."""

    name: str
    dark: bool
    colours: Mapping[str, str]
    ansi: bool = False  # the terminal's own sixteen colours, as the user has set them

    def textual(self) -> TextualTheme:
        get = self.colours.__getitem__
        return TextualTheme(
            name=self.name,
            dark=self.dark,
            ansi=self.ansi,
            primary=get("ink.accent"),
            secondary=get("ink.muted"),
            accent=get("ink.accent"),
            warning=get("ink.warning"),
            error=get("ink.error"),
            success=get("ink.success"),
            foreground=get("ink.foreground"),
            background=get("paper.background"),
            surface=get("paper.surface"),
            panel=get("paper.panel"),
            variables=self._variables(),
        )

    def _variables(self) -> dict[str, str]:
        """`$muted`, `$cursor`, `$state-failed`, `$json-key`; and Textual's own, where its blend would be unreadable."""
        get = self.colours.__getitem__
        plain = {name: get(f"paper.{name}") for name in ("cursor", "selection")}
        plain |= {name: get(f"ink.{name}") for name in ("muted", "border")}
        plain |= {f"state-{name}": get(f"state.{name}") for name in STATE}
        plain |= {f"json-{name}": get(f"json.{name}") for name in JSON}
        return plain | {
            **{name: get(f"paper.{name}") for name in ("background", "surface", "panel")},
            "foreground": get("ink.foreground"),
            "ansi-background": get("paper.background"),
            "ansi-foreground": get("ink.foreground"),
            "border-blurred": get("ink.border"),
            "block-cursor-background": get("paper.cursor"),
            "block-cursor-foreground": get("ink.foreground"),
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-background": get("paper.surface"),
            "block-cursor-blurred-foreground": get("ink.foreground"),
            "input-selection-background": get("paper.selection"),
            "input-selection-foreground": get("ink.foreground"),
            "input-cursor-background": get("ink.foreground"),
            "input-cursor-foreground": get("paper.background"),
            "text-muted": get("ink.muted"),
            "text-disabled": get("ink.muted"),
            "foreground-muted": get("ink.muted"),
            "scrollbar": get("ink.border"),
            "scrollbar-hover": get("ink.muted"),
            "scrollbar-active": get("ink.accent"),
            "scrollbar-background": get("paper.background"),
            "scrollbar-background-hover": get("paper.background"),
            "scrollbar-background-active": get("paper.background"),
            "scrollbar-corner-color": get("paper.background"),
        }


def parse(text: str, where: str) -> Theme:
    """Raises HeadraceError naming the file and the key when something is missing, unknown or no colour."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HeadraceError(f"theme {where} is not TOML: {error}") from error
    name, dark = content.pop("name", None), content.pop("dark", True)
    if not isinstance(name, str) or not name or not isinstance(dark, bool):
        raise HeadraceError(f"theme {where}: it needs a name, and dark must be true or false")
    colours = dict(_colours(content, where))
    named = {colour.startswith("ansi_") for colour in colours.values()}
    if len(named) > 1:
        raise HeadraceError(f"theme {where}: either all colours are like #6cb6e8, or all like ansi_bright_red")
    return Theme(name, dark, colours, ansi=named == {True})


def _colours(content: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    unknown = content.keys() - _SECTIONS.keys()
    if unknown:
        raise HeadraceError(f"theme {where}: unknown section {min(unknown)!r} (there are {', '.join(_SECTIONS)})")
    for section, table in content.items():
        stray = table.keys() - set(_SECTIONS[section]) if isinstance(table, dict) else {"value"}
        if stray:
            raise HeadraceError(f"theme {where}: [{section}] knows no {min(stray)!r}")
    for section, names in _SECTIONS.items():
        for name in names:
            value = content.get(section, {}).get(name)
            if not isinstance(value, str) or not _COLOUR.fullmatch(value):
                raise HeadraceError(
                    f"theme {where}: [{section}] {name} must be a colour like #6cb6e8 or ansi_red, is {value!r}"
                )
            yield f"{section}.{name}", value


def bundled() -> list[Theme]:
    """The themes that come with the program, by name."""
    found = [entry for entry in files("themes").iterdir() if entry.name.endswith(".toml")]
    return [parse(entry.read_text("utf-8"), entry.name) for entry in sorted(found, key=lambda entry: entry.name)]


def of_user(folder: Path) -> tuple[list[Theme], list[str]]:
    """The user's themes, and a line for each file that cannot be used: a bad theme never keeps the screen away."""
    found, complaints = [], []
    for file in sorted(folder.glob("*.toml")):
        try:
            found.append(parse(file.read_text("utf-8"), str(file)))
        except HeadraceError as error:
            complaints.append(str(error))
        except (OSError, UnicodeDecodeError) as error:
            complaints.append(f"cannot read theme {file}: {error}")
    return found, complaints


def default_for(environ: Mapping[str, str]) -> str:
    """The theme where nobody has chosen one: by what the terminal can show."""
    if environ.get("NO_COLOR"):
        return "headrace-mono"
    if not environ.get("COLORTERM") and _FEW_COLOURS.fullmatch(environ.get("TERM", "")):
        return "headrace-ansi"
    return DEFAULT


def by_name(themes: Iterable[Theme]) -> dict[str, Theme]:
    """A user's theme replaces a bundled one of its name."""
    return {theme.name: theme for theme in themes}
