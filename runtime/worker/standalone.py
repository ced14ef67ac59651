"""A standalone worker: connectors and offsets are in files, only records and sinks' groups are in Kafka.

Every start creates the connectors of the command line again; changes made over REST are lost, as with Apache's
standalone worker. Only the offsets file and the sinks' consumer groups persist.
"""

from __future__ import annotations

import codecs
import json
import logging
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from runtime.api.errors import ConfigError
from runtime.config import properties
from runtime.config.standalone_config import load_standalone
from runtime.config.worker_config import WorkerConfig
from runtime.herder.errors import BadRequest, HerderError
from runtime.rest.http import bodies
from runtime.rest.http.bodies import CreateRequest
from runtime.worker import worker
from runtime.worker.assembly import WorkerParts
from runtime.worker.java_plugins import WorkerJava
from runtime.worker.worker import OnReady, WorkerStartError
from runtime.worker.worker_storage import StorageFactory, file_storage


class ConnectorFileError(ConfigError):
    """A connector file is invalid; the message names the file and the remedy."""


def read_all(files: Sequence[str]) -> list[tuple[str, CreateRequest]]:
    """Each file with its request. ConnectorFileError if a file is invalid, or two files name the same connector."""
    requests = [(file, read(Path(file))) for file in files]
    first: dict[str, str] = {}
    for file, request in requests:
        if request.name in first:
            raise ConnectorFileError(
                f"{file}: {first[request.name]} also defines the connector {request.name}; rename one of them"
            )
        first[request.name] = file
    return requests


def read(path: Path) -> CreateRequest:
    """The request in a file. The content decides between JSON and properties, whatever the file is called, as in
    Connect."""
    try:
        text = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as e:
        raise ConnectorFileError(f"{path}: cannot be read: {e.strerror}") from None
    if text.lstrip()[:1] == b"{":
        return _from_json(path, text)
    try:
        config = properties.load(path)
    except properties.PropertiesError as e:
        raise ConnectorFileError(str(e)) from None
    return CreateRequest(_name(path, config.get("name")), dict(config), None)


def _from_json(path: Path, text: bytes) -> CreateRequest:
    """`{"name", "config", "initial_state"}`, or the configuration itself with the key `name`."""
    try:
        whole = isinstance(json.loads(text).get("config"), dict)
        if whole:
            request = bodies.create_request(text, others=True)  # such as `tasks` and `type` of a saved answer
            _name(path, request.name)
            return request
        config = bodies.config(text)
    except (BadRequest, ValueError, RecursionError) as e:
        raise ConnectorFileError(f"{path}: {e}") from None
    return CreateRequest(_name(path, config.get("name")), config, None)


def _name(path: Path, name: str | None) -> str:
    if not name:
        raise ConnectorFileError(f"{path}: the key `name` is missing; add the connector's name")
    return name


log = logging.getLogger(__name__)


def main(file: str, connectors: Sequence[str]) -> int:
    """Run a worker until SIGTERM, SIGINT or SIGHUP; returns the exit code. All files are read before it starts."""

    def load() -> tuple[WorkerConfig, StorageFactory, OnReady]:
        config = load_standalone(Path(file), java)
        requests = read_all(connectors)
        return config.worker, file_storage(config), _create(requests)

    with closing(WorkerJava()) as java:
        return worker.run(file, load)


def _create(requests: Sequence[tuple[str, CreateRequest]]) -> OnReady:
    async def create(parts: WorkerParts) -> None:
        for file, request in requests:
            try:
                await _put(parts, file, request)
            except HerderError as e:
                raise WorkerStartError(f"{file}: {e}") from None

    return create


async def _put(parts: WorkerParts, file: str, request: CreateRequest) -> None:
    if request.initial_offsets is None:
        await parts.herder.create(request.name, request.config, request.initial_state)
    else:
        await parts.offset_requests.create(request.name, request.config, request.initial_state, request.initial_offsets)
        log.warning(
            "%s: initial_offsets are applied at every start; to continue from the current offsets, remove "
            "initial_offsets from the file", file,
        )  # fmt: skip
