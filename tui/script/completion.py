"""Shell completion: the shells' scripts call `headrace __complete` for the candidates.

headrace completion bash|zsh|fish                  the script to source
headrace __complete WORD… CURRENT                  one candidate per line; no errors, at most a second
headrace __complete --bash KIND PART LINE          the same for bash, see tui.script.shells
headrace __complete --fish WORD… TOKEN             the same for fish
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui import private_file
from tui.errors import HeadraceError, UsageError
from tui.script.shells import HOW, SCRIPTS
from tui.user_folders import cache_folder

if TYPE_CHECKING:
    from tui.contexts.profiles import Profile

CACHE_SECONDS = 30.0  # the lifetime of cached names
CLUSTER_TIMEOUT = 0.7  # seconds
CONNECTORS, WORKERS, PLUGINS = "names", "workers", "plugins"  # kinds of names, and the folders of their caches
OPTIONS = ("--context", "--script", "--record", "--replay", "--keep-going", "--read-only", "--help", "--version", "-c")
_VERBS: Mapping[str, Sequence[str]] = {
    "worker": ("distributed", "standalone"),
    "embedded": ("up", "down", "status", "run"),
    "offsets": ("--config", "--export", "--import"),
    "completion": tuple(SCRIPTS),
    "plugin": (),
    "preview": (),
    "doctor": (),
    "migrate": ("check", "run"),
}


def print_script(words: Sequence[str]) -> int:
    """Prints the completion script of a shell. Raises UsageError for an unknown shell."""
    if len(words) != 1 or words[0] not in SCRIPTS:
        raise UsageError(f"name a shell: {', '.join(SCRIPTS)}", "for example: " + HOW["bash"])
    sys.stdout.write(SCRIPTS[words[0]])
    return 0


def print_candidates(words: Sequence[str]) -> int:
    """Prints the candidates; errors are suppressed, since they would disturb the shell's prompt."""
    with suppress(HeadraceError, OSError):
        sys.stdout.write("".join(f"{word}\n" for word in _found(words) if "\n" not in word))
    return 0


def _found(words: Sequence[str]) -> list[str]:
    if len(words) == 4 and words[0] == "--bash":
        from tui.script.shells import in_bash

        _, kind, part, line = words
        return in_bash(kind, part, line, others)
    if words and words[0] == "--fish":
        from tui.script.shells import in_fish

        *before, token = words[1:] or ("",)
        return in_fish(before, token, others)
    *before, current = words or ("",)
    return others(before, current)


def others(before: Sequence[str], current: str) -> list[str]:
    """The candidates that differ from the current word."""
    return [word for word in candidates(before, current) if word != current]


def candidates(before: Sequence[str], current: str) -> list[str]:
    """The candidates that may replace `current`, after the words before it."""
    last = before[-1] if before else ""
    if before and before[0] == "config":
        return _after_config(before, current)
    if before and before[0] == "plugin":
        from tui.script.plugin_words import after_plugin

        return _beginning(after_plugin(before[1:], current), current)
    if before and before[0] in _VERBS:
        return _beginning(_VERBS[before[0]] if len(before) == 1 else (), current)
    if last == "--context":
        return _beginning(_contexts(), current)
    if last in ("--script", "--record", "--replay"):
        return []  # the shell completes file names
    if _is_command(before) and not current.startswith("-"):
        return _command(before, current)
    first = () if before else (*_VERBS, "config")
    return _beginning((*first, *OPTIONS), current)


def _beginning(words: Sequence[str], current: str) -> list[str]:
    return [word for word in words if word.startswith(current)]


def _is_command(before: Sequence[str]) -> bool:
    """Whether the current word follows -c."""
    for word in reversed(before):
        if word in ("-c", "--command"):
            return True
        if word.startswith("-"):
            return False
    return False


def _after_config(before: Sequence[str], current: str) -> list[str]:
    """Candidates after `headrace config`, whose arguments are separate words."""
    line = " ".join(before)
    if len(before) == 2 and before[1] in ("use-context", "remove-context", "set-context"):
        return _beginning(_contexts(), current)
    from tui.script.completing import complete

    return [text.removeprefix(line).strip() for text in complete(f"{line} {current}", ())]


def _contexts() -> list[str]:
    from tui import session

    return session.profiles().load().names


def _command(before: Sequence[str], current: str) -> list[str]:
    from tui.script.completing import complete

    class Names:
        """Names of the cluster, requested only if they are needed."""

        def __init__(self, kind: str) -> None:
            self.kind = kind

        def __iter__(self) -> Iterator[str]:
            return iter(_names(before, self.kind))

    return complete(
        current, Names(CONNECTORS), Names(WORKERS), Names(PLUGINS), (name for load in (_contexts,) for name in load())
    )


def _names(before: Sequence[str], kind: str) -> list[str]:
    """Names in the cluster that the words select, from the cache if it is recent."""
    from tui import session
    from tui.options import is_url

    url = next((word for word in before if is_url(word)), "")
    named = before[before.index("--context") + 1] if "--context" in before[:-1] else ""
    profile = session.choose(url, named, session.profiles())
    if profile is None:
        return []
    cache = cache_file(profile.label, kind)
    with suppress(OSError, ValueError):
        if time.time() - cache.stat().st_mtime < CACHE_SECONDS:
            return [str(name) for name in json.loads(private_file.read(cache))]
    names = _ask(profile, kind)
    with suppress(OSError):
        private_file.store(cache, json.dumps(names))
    return names


def _ask(profile: Profile, kind: str) -> list[str]:
    from tui import session
    from tui.client.calls import drive
    from tui.client.workers import cluster_workers

    profile = profile._replace(connect_timeout=CLUSTER_TIMEOUT, timeout=CLUSTER_TIMEOUT)
    connect = session.connect(profile, session.blocking(profile))
    try:
        if kind == WORKERS:
            return list(drive(cluster_workers(connect)).workers)
        if kind == PLUGINS:
            return sorted({plugin["class"] for plugin in drive(connect.plugins(connectors_only=False))})
        return sorted(drive(connect.names()))
    finally:
        drive(connect.close())


def cache_file(label: str, kind: str = CONNECTORS) -> Path:
    """The file with cached names of a cluster: CONNECTORS, WORKERS or PLUGINS."""
    from zlib import crc32  # a file name without the URL, which may contain a password

    return cache_folder(os.environ) / kind / f"{crc32(label.encode()):08x}.json"
