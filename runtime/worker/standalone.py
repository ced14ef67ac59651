"""A standalone worker: connectors and offsets are in files, only records and sinks' groups are in Kafka.

Every start creates the connectors of the command line again; changes made over REST are lost, as with Apache's
standalone worker. Only the offsets file and the sinks' consumer groups persist.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from runtime.config.standalone_config import load_standalone
from runtime.config.worker_config import WorkerConfig
from runtime.herder.errors import HerderError
from runtime.rest.http.bodies import CreateRequest
from runtime.worker import worker
from runtime.worker.assembly import WorkerParts
from runtime.worker.connector_files import read_all
from runtime.worker.java_plugins import WorkerJava
from runtime.worker.worker import OnReady, WorkerStartError
from runtime.worker.worker_storage import StorageFactory, file_storage

log = logging.getLogger(__name__)


def main(file: str, connectors: Sequence[str]) -> int:
    """Run a worker until SIGTERM or SIGINT; returns the exit code. All files are read before anything starts."""

    def load() -> tuple[WorkerConfig, StorageFactory, OnReady]:
        config = load_standalone(Path(file), WorkerJava())
        requests = read_all(connectors)
        return config.worker, file_storage(config), _create(requests)

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
