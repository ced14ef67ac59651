"""Themes: TOML files of `themes/` and of the user's folder `themes`, converted to Textual themes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from textual.theme import Theme as TextualTheme

from tui import private_file
from tui.errors import HeadraceError

DEFAULT = "headrace-dark"
PAPER = ("background", "surface", "panel", "cursor", "selection")
INK = ("foreground", "muted", "accent", "border", "success", "warning", "error")
STATE = ("failed", "unassigned", "restarting", "running", "paused", "stopped", "unknown")
JSON = ("key", "string", "number", "literal")
_SECTIONS = {"paper": PAPER, "ink": INK, "state": STATE, "json": JSON}
ANSI = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_COLOUR = re.compile(rf"#[0-9a-fA-F]{{6}}|ansi_default|ansi_(bright_)?({'|'.join(ANSI)})")
_FEW_COLOURS = re.compile(r"linux|ansi|cons25|vt\d+|.*-16color|rxvt|screen")


class Theme(NamedTuple):
    """The content of a file. `colours` has all keys, such as `ink.muted` and `state.failed`."""

    name: str
    dark: bool
    colours: Mapping[str, str]
    ansi: bool = False  # uses the terminal's own sixteen colours

    def textual(self) -> TextualTheme:
        """The theme for Textual."""
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
        """`$muted`, `$state-failed`, `$json-key` and so on, and overrides where Textual's blends are unreadable."""
        get = self.colours.__getitem__
        ansi_cursor = {"input-cursor-text-style": "reverse"} if get("ink.foreground") == "ansi_default" else {}
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
            "on-accent": "ansi_black" if self.ansi else get("paper.background"),
            "button-focus-text-style": "bold",  # Textual's own reverses the label only, not the whole button
            "state-failed-style": "bold reverse" if _is_grey(get("state.failed")) else "bold",
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
            **ansi_cursor,
        }


def _is_grey(colour: str) -> bool:
    """Whether the colour has no hue, so that failures need another mark."""
    return colour[0] == "#" and colour[1:3] == colour[3:5] == colour[5:7]


def parse(text: str, where: str) -> Theme:
    """The theme of a file. Raises HeadraceError, which names the file and the missing, unknown or invalid key."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HeadraceError(f"theme {where} is not TOML: {error}") from error
    name, dark = content.pop("name", None), content.pop("dark", True)
    if not isinstance(name, str) or not name or not isinstance(dark, bool):
        raise HeadraceError(f"theme {where}: name is required, and dark must be true or false")
    colours = dict(_colours(content, where))
    named = {colour.startswith("ansi_") for colour in colours.values()}
    if len(named) > 1:
        raise HeadraceError(
            f"theme {where}: all colours must be of one kind, either like #6cb6e8 or like ansi_bright_red"
        )
    return Theme(name, dark, colours, ansi=named == {True})


def _colours(content: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    unknown = content.keys() - _SECTIONS.keys()
    if unknown:
        raise HeadraceError(f"theme {where}: unknown section {min(unknown)!r}; expected {', '.join(_SECTIONS)}")
    for section, table in content.items():
        stray = table.keys() - set(_SECTIONS[section]) if isinstance(table, dict) else {"value"}
        if stray:
            raise HeadraceError(f"theme {where}: unknown key {min(stray)!r} in [{section}]")
    for section, names in _SECTIONS.items():
        for name in names:
            value = content.get(section, {}).get(name)
            if not isinstance(value, str) or not _COLOUR.fullmatch(value):
                raise HeadraceError(
                    f"theme {where}: [{section}] {name} must be a colour like #6cb6e8 or ansi_red, not {value!r}"
                )
            yield f"{section}.{name}", value


def bundled() -> list[Theme]:
    """The bundled themes, sorted by name."""
    traversables = [entry for entry in files("themes").iterdir() if entry.name.endswith(".toml")]
    return [parse(entry.read_text("utf-8"), entry.name) for entry in sorted(traversables, key=lambda entry: entry.name)]


def user_themes(folder: Path) -> tuple[list[Theme], list[str]]:
    """The user's valid themes, and a problem for each invalid file."""
    themes, problems = [], []
    for file in sorted(folder.glob("*.toml")):
        try:
            themes.append(parse(private_file.read(file), str(file)))
        except HeadraceError as error:
            problems.append(str(error))
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"cannot read theme {file}: {error}")
    return themes, problems


def default_for(environ: Mapping[str, str]) -> str:
    """The default theme, by the colours that the terminal supports."""
    if environ.get("NO_COLOR"):
        return "headrace-mono"
    if not environ.get("COLORTERM") and _FEW_COLOURS.fullmatch(environ.get("TERM", "")):
        return "headrace-ansi"
    return DEFAULT


def by_name(themes: Iterable[Theme]) -> dict[str, Theme]:
    """The themes by name; a later theme replaces an earlier one of the same name."""
    return {theme.name: theme for theme in themes}
