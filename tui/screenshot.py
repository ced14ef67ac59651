"""Screenshots: an SVG file that loads no fonts from the network, and a text file."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from textual.app import App
from textual.screen import Screen

from tui import private_file
from tui.errors import HeadraceError

_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_FONTS = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono'"


def save(app: App[int], folder: Path, now: datetime) -> Path:
    """Writes a screenshot to the folder `screenshots` and returns the SVG file. Raises HeadraceError."""
    svg = _FONT_FACE.sub("", app.export_screenshot(title="headrace")).replace("Fira Code", _FONTS)
    file = folder / "screenshots" / f"headrace-{now:%Y%m%d-%H%M%S-%f}.svg"
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        private_file.write(file, svg)
        private_file.write(file.with_suffix(".txt"), text(app))
    except OSError as error:
        raise HeadraceError(f"cannot write {file}: {os.strerror(error.errno or 0)}") from error
    return file


def text(app: App[int]) -> str:
    """The current screen as lines of text."""
    return text_of(app.screen)


def text_of(screen: Screen[Any]) -> str:
    """A screen as lines of text."""
    lines = screen._compositor.render_strips(screen.size)
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in lines) + "\n"
