"""Saved views of the connector list: a filter and an order under a letter, for each cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tui import private_file
from tui.errors import HeadraceError
from tui.offsets import files
from tui.screens.listing.ordering import DEFAULT, ListOrder, of_words
from tui.user_folders import state_folder


class View(NamedTuple):
    """What the list shows, and in which order."""

    filter: str
    order: ListOrder = DEFAULT

    @property
    def text(self) -> str:
        """A line about it."""
        shown = self.filter or "all connectors"
        return shown if self.order == DEFAULT else f"{shown}, sorted by {self.order.text}"


def _file(environ: Mapping[str, str]) -> Path:
    return state_folder(environ) / "views.json"


def _stored(environ: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    with suppress(OSError, ValueError):
        content = json.loads(private_file.read(_file(environ)))
        if isinstance(content, dict):
            return content
    return {}


def load(label: str, environ: Mapping[str, str] = os.environ) -> dict[str, View]:
    """The views of a cluster by letter; empty if none are stored."""
    views: dict[str, View] = {}
    with suppress(TypeError, ValueError, AttributeError):
        for letter, (text, order) in sorted(_stored(environ).get(label, {}).items()):
            views[letter] = View(str(text), of_words(str(order)) or DEFAULT)
    return views


def store(label: str, views: Mapping[str, View], environ: Mapping[str, str] = os.environ) -> str:
    """Stores the views of a cluster. Returns why they cannot be stored; empty if they are."""
    known = _stored(environ)
    known[label] = {letter: [view.filter, view.order.text] for letter, view in views.items()}
    try:
        files.replace(_file(environ), json.dumps(known, indent=1) + "\n")
    except HeadraceError as error:
        return error.message
    return ""
