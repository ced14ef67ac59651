"""Plugins on machines without the worker's `plugin.path`: archives from the worker, unpacked once for each executor."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from runtime.api.errors import ConnectError
from runtime.engine.protocol.archives import FetchMessage, with_paths
from runtime.engine.protocol.channel import encode
from runtime.model.task_spec import TaskSpec
from runtime.plugins import wheels
from runtime.system import frames
from runtime.system.tls_socket import TlsSocket

_CHUNK = 1 << 20
_ZIP = ".archive.zip"


class SlotArchives:
    """Thread-safe: several slots and tasks may need an archive at the same time."""

    def __init__(self, folder: Path, connect: Callable[[], TlsSocket]) -> None:
        """`folder` holds the unpacked archives of all slots of this executor; `connect` opens a connection for a
        download."""
        self._folder, self._connect = folder, connect

    def localized(self, spec: TaskSpec, archives: Mapping[str, str]) -> TaskSpec:
        """The specification with the paths of this machine. `archives`: digests by path on the worker's machine.
        ConnectError if an archive cannot be downloaded."""
        if not archives:
            return spec
        found = with_paths(spec, {path: str(self._unpacked(path, digest)) for path, digest in archives.items()})
        if found.environment is not None:
            found = replace(found, environment=replace(found.environment, archive=""))
        return found

    def _unpacked(self, path: str, digest: str) -> Path:
        target = self._folder / digest
        try:
            wheels.publish(target, lambda fresh: self._download(digest, fresh))
        except (OSError, frames.FrameError, wheels.BrokenEnvironmentError) as error:
            raise ConnectError(f"The slot could not get the plugins in {path} from the worker: {error}") from error
        return target / Path(path).name

    def _download(self, digest: str, folder: Path) -> None:
        request: FetchMessage = {"op": "fetch", "digest": digest}
        connection = self._connect()
        try:
            connection.sendall(encode(request))
            answer = frames.read(connection.stream)
            if answer is None or "size" not in answer[0]:
                raise OSError(f"the worker does not have the archive {digest}")
            file = folder / _ZIP
            self._copy(connection, answer[0]["size"], file, digest)
            wheels.unzip(file, folder, lambda path: path)
            file.unlink()
        finally:
            connection.close()

    def _copy(self, connection: TlsSocket, size: int, file: Path, digest: str) -> None:
        found = hashlib.sha256()
        with file.open("wb") as copy:
            while size:
                data = connection.stream.read(min(size, _CHUNK))
                if not data:
                    raise OSError("the connection was lost")
                copy.write(data)
                found.update(data)
                size -= len(data)
        if found.hexdigest() != digest:
            raise OSError("the archive is damaged")
