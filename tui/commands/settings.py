"""`config`: every setting with its value and origin. Secrets are shown as references or hidden."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tui.appearance import settings
from tui.commands.base import Command
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.result import Result, Table
from tui.contexts.profiles import SECRET_KEYS, Profile
from tui.contexts.secrets import shown
from tui.errors import HeadraceError
from tui.scrubbing import without_user
from tui.watch.rules import rules_of

Row = tuple[str, str, str]
VARIABLES = ("HEADRACE_URL", "HEADRACE_CONTEXT", "HEADRACE_SETTLE", "HEADRACE_THEME", "NO_COLOR", "TERM")
DEFAULTS = {"connect-timeout": "5 s", "timeout": "95 s"}
_DEFAULT_THEME = "headrace-dark"


class Config(Command):
    """Show every setting with its value and origin."""

    verb = "config"
    local = True

    async def run(self, context: CommandContext) -> Result:
        rows = (*_files(context.cluster), *_cluster(context.cluster), *_screen(context), *_environment())
        raw = [{"setting": setting, "value": value, "from": origin} for setting, value, origin in rows]
        return Result(raw, Table(("SETTING", "VALUE", "FROM"), rows), names=tuple(row[0] for row in rows))


def _files(cluster: CommandCluster) -> Iterator[Row]:
    from tui.wire.audit import audit_file

    folder = cluster.profiles.path.parent
    config, state = _origin("XDG_CONFIG_HOME"), _origin("XDG_STATE_HOME")
    yield "contexts file", _existing(str(cluster.profiles.path)), config
    yield "settings file", _existing(str(folder / settings.FILE)), config
    yield "themes folder", _existing(str(folder / "themes")), config
    yield "audit log", _existing(str(audit_file())), state


def _origin(variable: str) -> str:
    return f"${variable}" if os.environ.get(variable, "").startswith("/") else "$HOME"


def _existing(path: str) -> str:
    return path if os.path.exists(path) else f"{path} (missing)"  # noqa: PTH110 - avoids importing pathlib


def _cluster(cluster: CommandCluster) -> Iterator[Row]:
    try:
        profile = cluster.known_profile()
    except HeadraceError as error:
        yield "context", "", str(error)
        return
    if profile is None:
        yield "cluster", "embedded", "default: no URL and no context"
        return
    where = f"context {profile.name}" if profile.name else "command line or HEADRACE_URL"
    for key, value in _profile(profile):
        yield key, value or DEFAULTS.get(key, ""), where if value else "default"


def _profile(profile: Profile) -> Iterator[tuple[str, str]]:
    yield "cluster", ", ".join(map(without_user, (profile.url, *profile.others)))
    for key in ("username", "password", "token", "ca", "certificate", "key", "key_password", "proxy"):
        value = str(getattr(profile, key))
        if value:
            yield key.replace("_", "-"), shown(value) if key in SECRET_KEYS else value
    for name, value in profile.headers.items():
        yield f"headers.{name}", shown(value)
    yield "connect-timeout", f"{profile.connect_timeout:g} s" if profile.connect_timeout else ""
    yield "timeout", f"{profile.timeout:g} s" if profile.timeout else ""
    yield "read-only", "yes" if profile.read_only else ""
    yield "production", "yes" if profile.production else ""
    if profile.colour:
        yield "colour", profile.colour
    if profile.bootstrap:
        yield "bootstrap-servers", profile.bootstrap
    for name, value in profile.client.items():
        yield f"client.{name}", _client(name, value)


def _client(name: str, value: str) -> str:
    from tui.scrubbing import is_sensitive

    return shown(value) if is_sensitive(name) else value


def _screen(context: CommandContext) -> Iterator[Row]:
    folder = context.cluster.profiles.path.parent
    mine, problems = settings.load(folder)
    theme: dict[str, Any] = {"environment": os.environ.get("HEADRACE_THEME"), settings.FILE: mine.theme}
    origin = next((where for where, value in theme.items() if value), "default")
    yield "theme", theme.get(origin) or _DEFAULT_THEME, origin
    for name, keys in mine.keys.items():
        yield f"keys.{name}", keys, settings.FILE
    rules, wrong_rules = rules_of(mine.rules, _context_name(context.cluster))
    for number, rule in enumerate(rules, 1):
        yield f"rules.{number}", f"{rule.when.text}, {rule.severity}", settings.FILE
    problems += [f"{folder / settings.FILE}: {text}" for text in wrong_rules]
    problems += _promotion_problems(context.cluster)
    for text in dict.fromkeys([*problems, *context.files.settings_problems(folder)]):
        yield "mistake", text.replace(f"{folder}/", ""), ""


def _promotion_problems(cluster: CommandCluster) -> list[str]:
    """Empty if a file cannot be read: other rows show its error."""
    from tui.config import promotion

    with suppress(HeadraceError):
        return promotion.problems(cluster.profiles.path.parent, cluster.profiles.load().names)
    return []


def _context_name(cluster: CommandCluster) -> str:
    """Empty without a context, or if the contexts file cannot be used: a row shows its error."""
    try:
        profile = cluster.known_profile()
    except HeadraceError:
        return ""
    return profile.name if profile else ""


def _environment() -> Iterator[Row]:
    for name in VARIABLES:
        if value := os.environ.get(name):
            yield name, without_user(value), "environment"
