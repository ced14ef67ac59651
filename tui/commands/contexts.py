"""The verbs about contexts and settings: nothing here meets a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tui.commands.arguments import duration, flag, maybe_word, option, options, word, words
from tui.commands.base import Command, CommandContext, Danger, refuse
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.commands.targets import must_confirm
from tui.contexts.profiles import Contexts, Profile, profile_of
from tui.errors import NotFound, UsageError
from tui.scrubbing import without_user

SECRET = "a secret: itself, or env:NAME, command:LINE, keyring:SERVICE/USER"


class GetContexts(Command):
    """List the contexts, the current one marked; of one that cannot be used, what is wrong."""

    verb = "get contexts"
    local = True

    async def run(self, context: CommandContext) -> Result:
        contexts = context.profiles.load()
        return Result(
            [_document(contexts, name) for name in contexts.names],
            Table(("CURRENT", "NAME", "URL", "TRAITS"), tuple(_row(contexts, name) for name in contexts.names)),
            names=tuple(contexts.names),
        )


def _row(contexts: Contexts, name: str) -> tuple[str, ...]:
    current = "*" if name == contexts.current else ""
    if (wrong := contexts.wrong.get(name)) is not None:
        return current, name, without_user(wrong.url), f"cannot be used: {wrong.why}"
    profile = contexts.profiles[name]
    return current, name, _urls(profile), _traits(profile)


def _document(contexts: Contexts, name: str) -> dict[str, Any]:
    current = name == contexts.current
    if (wrong := contexts.wrong.get(name)) is not None:
        return {"name": name, "url": without_user(wrong.url), "current": current, "error": wrong.why}
    one = contexts.profiles[name]
    traits = {"read-only": one.read_only, "production": one.production}
    return {"name": name, "url": without_user(one.url), "current": current, **traits}


def _urls(profile: Profile) -> str:
    return ", ".join(map(without_user, (profile.url, *profile.others)))


def _traits(profile: Profile) -> str:
    traits = {
        "read-only": profile.read_only,
        "production": profile.production,
        "user": bool(profile.username),
        "token": bool(profile.token),
        "certificate": bool(profile.certificate),
    }
    return ", ".join(name for name, given in traits.items() if given)


class CurrentContext(Command):
    """Say which context is the current one."""

    verb = "config current-context"
    local = True

    async def run(self, context: CommandContext) -> Result:
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
    url = words("URL", "of a worker of the cluster; more than one are asked in turn", at_least=0)
    cluster = option("--cluster", "--url", metavar="URL", help="the same, as kcctl has it", convert=str)
    username = option("--username", metavar="USER", convert=str)
    password = option("--password", metavar="SECRET", help=f"for basic authentication; {SECRET}", convert=str)
    token = option("--token", metavar="SECRET", help="sent as a bearer token", convert=str)
    ca = option("--ca", metavar="FILE", help="certificates to trust", convert=_absolute)
    certificate = option("--certificate", metavar="FILE", help="who we are, for mutual TLS", convert=_absolute)
    private_key = option("--key", metavar="FILE", help="its key, where it is not in the same file", convert=_absolute)
    key_password = option("--key-password", metavar="SECRET", convert=str)
    header = options("--header", metavar="NAME=SECRET", help="sent with each request")
    proxy = option("--proxy", metavar="URL|none", convert=str)
    connect_timeout = option("--connect-timeout", metavar="TIME", convert=duration)
    timeout = option("--timeout", metavar="TIME", help="for an answer; 95s unless given", convert=duration)
    bootstrap = option("--bootstrap-servers", metavar="HOST:PORT", help="Kafka's own address", convert=str)
    client = options("--client-config", metavar="KEY=SECRET", help="of the Kafka client for the brokers")
    offset_topic = option("--offset-topic", metavar="TOPIC", help="kcctl's; not needed here", convert=str)
    colour = option("--colour", "--color", metavar="#RRGGBB", help="of the frame", convert=str)
    read_only = flag("--read-only", help="refuse every change")
    writable = flag("--writable", help="not read-only any more")
    production = flag("--production", help="give it the colour of danger")
    no_production = flag("--no-production", help="not production any more")

    def check(self) -> None:
        refuse(self.read_only and self.writable, "--read-only or --writable, not both")
        refuse(self.production and self.no_production, "--production or --no-production, not both")
        for pair in (*self.header, *self.client):
            refuse(pair.find("=") < 1, f"{pair}: it looks like NAME=VALUE")

    async def run(self, context: CommandContext) -> Result:
        contexts = context.profiles.load()
        before = contexts.table(self.name)
        refuse(not before.get("url") and not self._urls(), f"the context {self.name!r} is new: give its URL")
        profile = profile_of(self.name, {**before, **self._given()})
        profile = profile._replace(
            headers={**profile.headers, **_pairs(self.header)},
            client={**profile.client, **_pairs(self.client)},
        )
        context.profiles.put(profile)
        if not contexts.names:
            context.profiles.use(self.name)
        return confirmation([TargetOutcome(self.name, "changed" if before else "created")])

    def _urls(self) -> list[str]:
        given = [*self.url, *(self.cluster or "").split(",")]
        return [url.strip() for url in given if url.strip()]

    def _given(self) -> dict[str, Any]:
        """As the file would have it."""
        given = {key: self.values[name] for name, key in _KEYS.items() if name in self.values}
        given |= {"url": urls} if (urls := self._urls()) else {}
        given |= {"read-only": False} if self.writable else {}
        return given | ({"production": False} if self.no_production else {})


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


_SAME = ("username", "password", "token", "ca", "certificate", "key_password", "proxy", "connect_timeout", "timeout")
_KEYS = {name: name.replace("_", "-") for name in (*_SAME, "colour", "read_only", "production")} | {
    "private_key": "key",
    "bootstrap": "bootstrap-servers",
}
"""Arguments, and the keys of the file they set."""


class UseContext(Command):
    """Make a context the current one."""

    verb = "config use-context"
    local = True

    name = word("NAME")

    async def run(self, context: CommandContext) -> Result:
        context.profiles.use(self.name)
        return confirmation([TargetOutcome(self.name, "is the current context")])


class RemoveContext(Command):
    """Forget a context, with the secrets that stand in it."""

    verb = "config remove-context"
    local = True
    danger = Danger.ASK

    name = word("NAME")
    dry_run = flag("--dry-run", help="say what would be done")
    yes = flag("-y", "--yes", help="do not ask")

    async def run(self, context: CommandContext) -> Result:
        contexts = context.profiles.load()
        context.profiles.must_know(contexts, self.name)
        if self.name == context.shown:
            raise UsageError(f"{self.name} is the context you are on", "go to another one first, then remove it")
        is_current = self.name == contexts.current
        if self.dry_run:
            more = "; it is the current one, and none is then" if is_current else ""
            return confirmation([TargetOutcome(self.name, f"would be removed, with all that stands in it{more}")])
        must_confirm(context, self.yes, "remove the context", [self.name])
        context.profiles.remove(self.name)
        more = "; it was the current one, none is now" if is_current else ""
        return confirmation([TargetOutcome(self.name, f"removed{more}")])


class ImportKcctl(Command):
    """Take over the contexts of kcctl, from ~/.kcctl unless a file is given. Names that are there already stay."""

    verb = "config import-kcctl"
    local = True

    file = maybe_word("FILE")

    async def run(self, context: CommandContext) -> Result:
        from tui.contexts.kcctl import read

        found = read(context.read(self.file or "~/.kcctl"), self.file or "~/.kcctl")
        contexts = context.profiles.load()
        outcomes = []
        for profile in found.profiles.values():
            if profile.name in contexts.names:
                outcomes.append(TargetOutcome(profile.name, "left out: there is a context of that name"))
                continue
            try:
                context.profiles.put(profile)
            except UsageError as error:
                outcomes.append(TargetOutcome(profile.name, f"left out: {error.message}", error.exit_code))
                continue
            outcomes.append(TargetOutcome(profile.name, "imported"))
        if not contexts.current and found.current in context.profiles.load().profiles:
            context.profiles.use(found.current)
        return confirmation(outcomes)
