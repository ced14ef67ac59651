"""The audit log of this machine: each request that changes a cluster, as a line of JSON in the XDG state folder.

    {"time": "2026-…Z", "who": "ops@bastion", "context": "prod", "url": "http://…", "from": "script" | "screen",
     "what": "PUT /connectors/x/stop", "connector": "x", "body": …, "before": …, "answer": …}  or "error" for the
     response

`before` is the replaced config for changes of configs, and the replaced offsets for changes of offsets. Secrets are
hidden. If the log cannot be written, a warning is shown once and requests are sent all the same.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tui.client.calls import ApiCall, Transport
from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.errors import HeadraceError
from tui.scrubbing import scrubbed, without_user
from tui.user_folders import state_folder
from tui.wire.wrapper import TransportWrapper

MAX_READ_BYTES = 1024 * 1024  # of the end of the log, when it is searched
MAX_LOG_BYTES = 8 * 1024 * 1024  # beyond it the log is renamed to audit.jsonl.1 and a new one started


Config = Mapping[str, str]
KeepConfig = Callable[[str, Config | None, Config | None, str, str, str, frozenset[str]], None]
"""Takes the connector, its config before and after (None if it does not exist), its state before, user, reason, and the
keys of type PASSWORD."""


def audit_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The file of the audit log."""
    return state_folder(environ) / "audit.jsonl"


class AuditedTransport(TransportWrapper):
    """A transport that logs each request which changes the cluster, with its response."""

    def __init__(
        self, inner: Transport, context: str, door: str, warn: Callable[[str], None] | None = None,
        keep: KeepConfig | None = None,
    ) -> None:  # fmt: skip
        """`keep` is called after each change of a config, with its connector, for a history of configs."""
        super().__init__(inner)
        self._context, self._door, self._warn, self._keep = context, door, warn, keep
        self._password_keys = PasswordKeys(Connect(inner).plugin_config)
        self._has_warned = False

    async def send(self, call: ApiCall) -> Any:
        if not call.changes:
            return await self.inner.send(call)
        before = await self._before(call)
        state = await self._state(call)
        passwords = await self._passwords(call, before)
        heading = self._heading(call, passwords)
        entry = {**heading, "before": scrubbed(before, passwords=passwords)}
        try:
            response = await self.inner.send(call)
        except HeadraceError as error:
            self._write({**entry, "error": str(error)})
            raise
        self._write({**entry, "answer": scrubbed(response, passwords=passwords)})
        self._kept(call, heading, (before, response), state, passwords)
        return response

    def _kept(
        self, call: ApiCall, heading: Mapping[str, Any], both: tuple[Any, Any], state: str, passwords: frozenset[str]
    ) -> None:
        """Passes a change of a config to `keep`; like the log, a history that cannot be written stops no request."""
        if self._keep is None or not _changes_config(call):
            return
        before, response = both
        after = response.get("config") if isinstance(response, dict) else None
        try:
            self._keep(
                heading["connector"], before or None, None if call.method == "DELETE" else after, state,
                heading["who"], heading.get("why", ""), passwords,
            )  # fmt: skip
        except HeadraceError as error:
            if self._warn is not None:
                self._warn(f"the history of configs is incomplete: {error}")

    async def _state(self, call: ApiCall) -> str:
        """The state of a connector that the request deletes."""
        if self._keep is None or not (_changes_config(call) and call.method == "DELETE"):
            return ""
        try:
            response = await self.inner.send(ApiCall("GET", f"{call.path.partition('?')[0]}/status"))
            return str(response["connector"]["state"])
        except (HeadraceError, KeyError, TypeError):
            return ""

    async def _passwords(self, call: ApiCall, before: Any) -> frozenset[str]:
        """The keys of type PASSWORD in a changed config; all its keys if the worker does not tell."""
        if not _changes_config(call):
            return frozenset()
        old = before if isinstance(before, dict) else {}
        try:
            return await self._password_keys.of(old, {**old, **call.config})
        except HeadraceError:
            return frozenset(old | call.config)

    def _heading(self, call: ApiCall, passwords: Collection[str]) -> dict[str, Any]:
        reasons = {name: value for name, value in call.headers if name == "Headrace-Reason"}
        return {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "who": user_at_host(),
            "context": without_user(self._context),
            "url": without_user(self.url),
            "from": self._door,
            "what": f"{call.method} {call.path}",
            "connector": call.connector,
            **({"why": next(iter(reasons.values()))} if reasons else {}),
            "body": scrubbed(call.body, passwords=passwords),
        }

    async def _before(self, call: ApiCall) -> Any:
        """The config or the offsets that the request replaces; None for other requests."""
        path = call.path.partition("?")[0]
        if path.endswith(("/offsets", "/config")):
            where = path
        elif call.method == "DELETE" and path.count("/") == 2:
            where = f"{path}/config"
        else:
            return None
        try:
            return await self.inner.send(ApiCall("GET", where))
        except HeadraceError:
            return None

    def _write(self, entry: dict[str, Any]) -> None:
        try:
            append(entry)
        except OSError as error:
            if not self._has_warned and self._warn is not None:
                self._warn(f"cannot write the audit log {audit_file()}: {error.strerror}")
            self._has_warned = True


def user_at_host() -> str:
    import pwd
    import socket

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = str(os.getuid())
    return f"{os.environ.get('SUDO_USER') or name}@{socket.gethostname()}"


def _changes_config(call: ApiCall) -> bool:
    """Whether the request creates, configures or deletes a connector."""
    parts = call.path.partition("?")[0].strip("/").split("/")
    return parts[0] == "connectors" and (
        (call.method in ("PUT", "PATCH") and len(parts) == 3 and parts[2] == "config")
        or (call.method == "POST" and len(parts) == 1)
        or (call.method == "DELETE" and len(parts) == 2)
    )


def restarts(context: str, connector: str) -> list[dict[str, Any]]:
    """The logged restarts of a connector and its tasks, the newest first: `at` in seconds since 1970, `task` (None for
    the connector with its tasks), `who`, `from`, and `error` if the request was refused. Reads the end of the log."""
    if not (file := audit_file()).is_file():
        return []
    try:
        with file.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - MAX_READ_BYTES))
            lines = log.readlines()
    except OSError:
        return []
    entries = (_restart(line, context, connector) for line in reversed(lines) if b"/restart" in line)
    return [entry for entry in entries if entry is not None]


def _restart(line: bytes, context: str, connector: str) -> dict[str, Any] | None:
    """The entry of a restart; None for other entries, and for a line that is cut off."""
    try:
        entry = json.loads(line)
        method, path = entry["what"].split(" ", 1)
        parts = path.partition("?")[0].split("/")
        if method != "POST" or parts[-1] != "restart" or (entry["context"], entry["connector"]) != (context, connector):
            return None
        at = datetime.fromisoformat(entry["time"]).timestamp()
        task = int(parts[4]) if len(parts) == 6 else None
        return {"at": at, "task": task, **{key: entry[key] for key in ("who", "from", "error") if key in entry}}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def append(entry: dict[str, Any]) -> None:
    """Appends a line in one write, so that lines of two consoles do not mix. Raises OSError."""
    file = audit_file()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if file.exists() and file.stat().st_size > MAX_LOG_BYTES:
        file.replace(file.with_suffix(".jsonl.1"))
    line = (json.dumps(entry, separators=(",", ":")) + "\n").encode("utf-8", "surrogateescape")
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600)
    try:
        if (written := os.write(descriptor, line)) < len(line):  # the next line would follow the part
            os.ftruncate(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR) - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
    finally:
        os.close(descriptor)
