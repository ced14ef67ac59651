"""The verbs about contexts and settings: nothing here meets a cluster."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tui.commands.arguments import flag, maybe_word, option, word
from tui.commands.base import Command, Context, refuse
from tui.commands.result import Outcome, Result, Table, confirmation
from tui.errors import HeadraceError, NotFound
from tui.profiles import Profile
from tui.wire.endpoint import Endpoint


class GetContexts(Command):
    """List the contexts, the current one marked."""

    verb = "get contexts"
    local = True

    async def run(self, context: Context) -> Result:
        contexts = context.profiles.load()
        profiles = sorted(contexts.profiles.items())
        rows = tuple(("*" if name == contexts.current else "", name, p.url, _traits(p)) for name, p in profiles)
        raw = [
            {"name": name, "url": p.url, "current": name == contexts.current, "read-only": p.read_only}
            for name, p in profiles
        ]
        return Result(raw, Table(("CURRENT", "NAME", "URL", "TRAITS"), rows), names=tuple(name for name, _ in profiles))


def _traits(profile: Profile) -> str:
    traits = {"read-only": profile.read_only, "production": profile.production, "user": bool(profile.username)}
    return ", ".join(name for name, given in traits.items() if given)


class CurrentContext(Command):
    """Say which context is the current one."""

    verb = "config current-context"
    local = True

    async def run(self, context: Context) -> Result:
        current = context.profiles.load().current
        if not current:
            raise NotFound("no context is current", 404, "choose one with: config use-context NAME")
        return Result({"name": current}, text=current, names=(current,))


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


class SetContext(Command):
    """Make or change a context; the first one becomes the current one."""

    verb = "config set-context"
    local = True

    name = word("NAME")
    url = maybe_word("URL", "of any worker of the cluster")
    cluster = option("--cluster", metavar="URL", help="the same, as kcctl has it", convert=str)
    username = option("--username", metavar="USER", convert=str)
    password = option("--password", metavar="PASSWORD", convert=str)
    ca = option("--ca", metavar="FILE", help="certificates to trust", convert=_absolute)
    bootstrap = option("--bootstrap-servers", metavar="HOST:PORT", help="Kafka's own address", convert=str)
    read_only = flag("--read-only", help="refuse every change")
    production = flag("--production", help="give it the colour of danger")

    async def run(self, context: Context) -> Result:
        contexts = context.profiles.load()
        before = contexts.profiles.get(self.name)
        url = self.url or self.cluster or (before.url if before else "")
        refuse(not url, f"the context {self.name!r} is new: give its URL")
        Endpoint(url)
        given = {key: self.values[key] for key in _FIELDS if key in self.values}
        context.profiles.put(replace(before or Profile(url), name=self.name, url=url, **given))
        if not contexts.profiles:
            context.profiles.use(self.name)
        return confirmation([Outcome(self.name, "changed" if before else "created")])


_FIELDS = ("username", "password", "ca", "bootstrap", "read_only", "production")


class UseContext(Command):
    """Make a context the current one."""

    verb = "config use-context"
    local = True

    name = word("NAME")

    async def run(self, context: Context) -> Result:
        context.profiles.use(self.name)
        return confirmation([Outcome(self.name, "is the current context")])


class RemoveContext(Command):
    """Forget a context."""

    verb = "config remove-context"
    local = True

    name = word("NAME")

    async def run(self, context: Context) -> Result:
        context.profiles.remove(self.name)
        return confirmation([Outcome(self.name, "removed")])


class Config(Command):
    """Show every setting with its value and where it came from."""

    verb = "config"
    local = True

    async def run(self, context: Context) -> Result:
        rows = [("contexts file", str(context.profiles.path), "$XDG_CONFIG_HOME, $HOME"), self._cluster(context)]
        rows += [(name, os.environ[name], "environment") for name in _VARIABLES if os.environ.get(name)]
        raw = [{"setting": setting, "value": value, "from": origin} for setting, value, origin in rows]
        return Result(raw, Table(("SETTING", "VALUE", "FROM"), tuple(rows)), names=tuple(row[0] for row in rows))

    def _cluster(self, context: Context) -> tuple[str, str, str]:
        try:
            profile = context.profile
        except HeadraceError as error:
            return ("cluster", "", str(error))
        return ("cluster", profile.url, f"context {profile.name}" if profile.name else "command line or HEADRACE_URL")


_VARIABLES = ("HEADRACE_URL", "HEADRACE_CONTEXT", "NO_COLOR")
