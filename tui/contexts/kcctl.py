"""The contexts of kcctl: `~/.kcctl` is JSON, `{"currentContext": NAME, NAME: {"cluster": URL, …}, …}`."""

from __future__ import annotations

import json
from typing import Any

from tui.contexts.profiles import Contexts, Profile
from tui.errors import HeadraceError

# The keys that are read; the offset topic is not needed, since offsets are read over REST.
_TEXTS = {"bootstrapServers": "bootstrap", "username": "username", "password": "password"}


def read(text: str, where: str) -> Contexts:
    """Parses the file's text. Raises HeadraceError if it is not a kcctl file; `where` names it in errors."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HeadraceError(
            f"{where} is not JSON: {error}", "kcctl's older properties format is not supported"
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get("currentContext"), str | None):
        raise HeadraceError(f"{where} is not a kcctl file")
    entries = {name: entry for name, entry in content.items() if name != "currentContext"}
    return Contexts(
        content.get("currentContext") or "", {name: _profile(name, e, where) for name, e in entries.items()}
    )


def _profile(name: str, entry: Any, where: str) -> Profile:
    if not isinstance(entry, dict) or not isinstance(entry.get("cluster"), str):
        raise HeadraceError(f"{where}: the context {name!r} has no cluster")
    texts = {ours: str(entry[theirs]) for theirs, ours in _TEXTS.items() if entry.get(theirs)}
    client = {str(key): str(value) for key, value in (entry.get("clientConfig") or {}).items()}
    return Profile(entry["cluster"], name, client=client, **texts)  # type: ignore[arg-type]  # all values are texts
