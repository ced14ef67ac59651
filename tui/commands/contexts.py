"""The verbs for contexts, which need no cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tui.commands.arguments import duration, flag, option, optional_positional, options, positional, positionals
from tui.commands.base import Command, Danger, refuse
from tui.commands.context import CommandContext
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.commands.targets import require_confirmation
from tui.contexts.profiles import Contexts, Profile, profile_of
from tui.errors import NotFound, UsageError
from tui.scrubbing import without_user

SECRET = "the secret itself, or env:NAME, command:LINE, keyring:SERVICE/USER"


class GetContexts(Command):
    """List the contexts, with the current one marked, and the error of each invalid one."""

    verb = "get contexts"
    local = True

    async def run(self, context: CommandContext) -> Result:
        contexts = context.cluster.profiles.load()
        return Result(
            [_document(contexts, name) for name in contexts.names],
            Table(("CURRENT", "NAME", "URL", "TRAITS"), tuple(_row(contexts, name) for name in contexts.names)),
            names=tuple(contexts.names),
        )


def _row(contexts: Contexts, name: str) -> tuple[str, ...]:
    current = "*" if name == contexts.current else ""
    if (invalid := contexts.invalid.get(name)) is not None:
        return current, name, without_user(invalid.url), f"invalid: {invalid.reason}"
    profile = contexts.profiles[name]
    return current, name, _urls(profile), _traits(profile)


def _document(contexts: Contexts, name: str) -> dict[str, Any]:
    current = name == contexts.current
    if (invalid := contexts.invalid.get(name)) is not None:
        return {"name": name, "url": without_user(invalid.url), "current": current, "error": invalid.reason}
    profile = contexts.profiles[name]
    traits = {"read-only": profile.read_only, "production": profile.production}
    return {"name": name, "url": without_user(profile.url), "current": current, **traits}


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
    """Show the name of the current context."""

    verb = "config current-context"
    local = True

    async def run(self, context: CommandContext) -> Result:
        current = context.cluster.profiles.load().current
        if not current:
            raise NotFound("there is no current context", 404, "choose one with: config use-context NAME")
        return Result({"name": current}, text=current, names=(current,))


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


class SetContext(Command):
    """Create or change a context. The first context becomes the current one."""

    verb = "config set-context"
    local = True

    name = positional("NAME", "the context")
    url = positionals("URL", "worker of the cluster; the next is tried when one does not respond", at_least=0)
    cluster = option("--cluster", "--url", metavar="URL", help="the URL, as in kcctl", convert=str)
    username = option("--username", metavar="USER", help="user for basic authentication", convert=str)
    password = option("--password", metavar="SECRET", help=f"its password: {SECRET}", convert=str)
    token = option("--token", metavar="SECRET", help="bearer token", convert=str)
    ca = option("--ca", metavar="FILE", help="trusted CA certificates", convert=_absolute)
    certificate = option("--certificate", metavar="FILE", help="client certificate for mutual TLS", convert=_absolute)
    private_key = option(
        "--key", metavar="FILE", help="private key, if not in the certificate's file", convert=_absolute
    )
    key_password = option("--key-password", metavar="SECRET", help="password of the private key", convert=str)
    header = options("--header", metavar="NAME=SECRET", help="header for each request; can be repeated")
    proxy = option("--proxy", metavar="URL|none", help="HTTP proxy; none ignores the environment's", convert=str)
    connect_timeout = option(
        "--connect-timeout", metavar="TIME", help="limit for a connection; default 5s", convert=duration
    )
    timeout = option("--timeout", metavar="TIME", help="limit for a response; default 95s", convert=duration)
    bootstrap = option("--bootstrap-servers", metavar="HOST:PORT", help="the Kafka brokers", convert=str)
    client = options("--client-config", metavar="KEY=SECRET", help="property of the Kafka client; can be repeated")
    offset_topic = option("--offset-topic", metavar="TOPIC", help="accepted for kcctl; ignored", convert=str)
    colour = option("--colour", "--color", metavar="#RRGGBB", help="colour of the frame", convert=str)
    read_only = flag("--read-only", help="refuse every change")
    writable = flag("--writable", help="remove --read-only")
    production = flag("--production", help="show it in the warning colour")
    no_production = flag("--no-production", help="remove --production")

    def check(self) -> None:
        refuse(self.read_only and self.writable, "give --read-only or --writable, not both")
        refuse(self.production and self.no_production, "give --production or --no-production, not both")
        for pair in (*self.header, *self.client):
            refuse(pair.find("=") < 1, f"{pair}: expected NAME=VALUE")

    async def run(self, context: CommandContext) -> Result:
        contexts = context.cluster.profiles.load()
        before = contexts.table(self.name)
        refuse(not before.get("url") and not self._urls(), f"context {self.name!r} does not exist yet: give its URL")
        profile = profile_of(self.name, {**before, **self._given()})
        profile = profile._replace(
            headers={**profile.headers, **_pairs(self.header)},
            client={**profile.client, **_pairs(self.client)},
        )
        context.cluster.profiles.put(profile)
        if not contexts.names:
            context.cluster.profiles.use(self.name)
        return confirmation([TargetOutcome(self.name, "changed" if before else "created")])

    def _urls(self) -> list[str]:
        given = [*self.url, *(self.cluster or "").split(",")]
        return [url.strip() for url in given if url.strip()]

    def _given(self) -> dict[str, Any]:
        """The given values, by the keys of the file."""
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
"""The key of the file for each argument."""


class UseContext(Command):
    """Set the current context."""

    verb = "config use-context"
    local = True

    name = positional("NAME")

    async def run(self, context: CommandContext) -> Result:
        context.cluster.profiles.use(self.name)
        return confirmation([TargetOutcome(self.name, "is the current context")])


class RemoveContext(Command):
    """Remove a context and the secrets stored in it."""

    verb = "config remove-context"
    local = True
    danger = Danger.ASK

    name = positional("NAME")
    dry_run = flag("--dry-run", help="show what would be done, without doing it")
    yes = flag("-y", "--yes", help="do not ask for confirmation")

    async def run(self, context: CommandContext) -> Result:
        contexts = context.cluster.profiles.load()
        context.cluster.profiles.require(contexts, self.name)
        if self.name == context.terminal.screen_profile:
            raise UsageError(f"the screen shows context {self.name}", "switch to another context first, then remove it")
        is_current = self.name == contexts.current
        if self.dry_run:
            more = "; there will be no current context" if is_current else ""
            return confirmation([TargetOutcome(self.name, f"would be removed, including its secrets{more}")])
        require_confirmation(context.terminal, self.yes, "remove the context", [self.name])
        context.cluster.profiles.remove(self.name)
        more = "; there is no current context now" if is_current else ""
        return confirmation([TargetOutcome(self.name, f"removed{more}")])


class ImportKcctl(Command):
    """Import the contexts of kcctl from FILE, by default ~/.kcctl. Existing contexts are not changed."""

    verb = "config import-kcctl"
    local = True

    file = optional_positional("FILE")

    async def run(self, context: CommandContext) -> Result:
        from tui.contexts.kcctl import read

        imported = read(context.files.read(self.file or "~/.kcctl"), self.file or "~/.kcctl")
        contexts = context.cluster.profiles.load()
        outcomes = []
        for profile in imported.profiles.values():
            if profile.name in contexts.names:
                outcomes.append(TargetOutcome(profile.name, "skipped: a context of this name exists"))
                continue
            try:
                context.cluster.profiles.put(profile)
            except UsageError as error:
                outcomes.append(TargetOutcome(profile.name, f"skipped: {error.message}", error.exit_code))
                continue
            outcomes.append(TargetOutcome(profile.name, "imported"))
        if not contexts.current and imported.current in context.cluster.profiles.load().profiles:
            context.cluster.profiles.use(imported.current)
        return confirmation(outcomes)
