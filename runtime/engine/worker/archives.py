"""Archives of plugins for slots on other machines, named by the SHA-256 of their content."""

from __future__ import annotations

import asyncio
import hashlib
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from runtime.engine.protocol.archives import paths
from runtime.model.task_spec import TaskSpec
from runtime.plugins.environments import state_of

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the time of all files, so that equal content gives equal archives
_SKIPPED = "__pycache__"
_RECENT = 2  # archives of a path that are kept: a task that has just been prepared may need the last but one


class WorkerArchives:
    """Made when the first task needs them, and again when their files change; then older ones are removed. Event loop
    only, except file()."""

    def __init__(self, folder: Path, in_use: Callable[[], Collection[str]] = tuple) -> None:
        """`folder` is private to the worker; `in_use` returns the digests that tasks may still ask for."""
        self._folder, self._in_use = folder, in_use
        self._recent: dict[str, list[str]] = {}  # digests by path, the newest last
        self._digests: dict[tuple[str, str], str] = {}  # by path and state
        self._lock = asyncio.Lock()

    async def of(self, spec: TaskSpec) -> Mapping[str, str]:
        """The digests of the archives that a task needs, by path. OSError if a file cannot be read."""
        needed = paths(spec)
        if not needed:
            return {}
        async with self._lock:
            return await asyncio.to_thread(self._digests_of, needed, {*self._in_use()})

    def file(self, digest: str) -> Path | None:
        """The archive; None if there is none. Thread-safe."""
        file = self._folder / f"{digest}.zip"
        return file if digest.isalnum() and file.is_file() else None

    def _digests_of(self, needed: Sequence[str], in_use: set[str]) -> dict[str, str]:
        digests = {}
        for path in needed:
            key = path, state_of(Path(path))
            if key not in self._digests:
                self._digests[key] = digest = self._write(Path(path))
                self._recent[path] = [*self._recent.get(path, ()), digest][-_RECENT:]
                self._remove_old(in_use)
            digests[path] = self._digests[key]
        return digests

    def _remove_old(self, in_use: set[str]) -> None:
        kept = in_use.union(*self._recent.values())
        for file in self._folder.glob("*.zip"):
            if file.stem not in kept:
                file.unlink()
        self._digests = {key: digest for key, digest in self._digests.items() if digest in kept}

    def _write(self, path: Path) -> str:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._folder / "draft.zip"
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as content:
            for file in _files(path):
                info = zipfile.ZipInfo(_name(file, path.parent), _EPOCH)
                info.external_attr, info.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
                with file.open("rb") as source, content.open(info, "w", force_zip64=True) as target:
                    while data := source.read(1 << 20):
                        target.write(data)
        with draft.open("rb") as written:
            digest = hashlib.file_digest(written, "sha256").hexdigest()
        draft.rename(self._folder / f"{digest}.zip")
        return digest


def _name(file: Path, folder: Path) -> str:
    name = file.relative_to(folder).as_posix()
    try:
        name.encode()
    except UnicodeEncodeError:
        raise OSError(f"the name of {str(file)!a} is not UTF-8: rename or remove the file") from None
    return name


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    yield from sorted(file for file in path.rglob("*") if file.is_file() and _SKIPPED not in file.parts)
