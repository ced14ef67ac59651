"""The script line equivalent to an edit of a config."""

from __future__ import annotations

from collections.abc import Collection
from shlex import quote

from tui.config.applying import ConfigEdit
from tui.config.secrets import MASK, hides


def script_line(edit: ConfigEdit, passwords: Collection[str] = ()) -> str:
    """`patch connector NAME -s k=v -r k`; secrets are masked and have to be filled in."""
    words = ["patch", "connector", quote(edit.name)]
    for change in edit.changes:
        if change.after is None:
            words += ["-r", quote(change.key)]
        else:
            value = MASK if hides(change.key, change.after, passwords) else change.after
            words += ["-s", quote(f"{change.key}={value}")]
    return " ".join(words)
