"""A process with an engine of its own, which a test may kill."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tests.support.engine.engine_rig import ROOT, RUNNER, TTL

OWNER = """
import asyncio, sys
sys.path.insert(0, {root!r})
from tests.support.engine.engine_recorder import Recorder, task_spec
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from runtime.engine.worker.worker_folder import socket_path
from runtime.model.states import State, TaskId
from tests.support.waiting import until

async def main():
    heard = Recorder()
    engine = SparkEngine(EngineSettings(slots=2, lease_ttl={ttl!r}, runner={runner!r}, archive=False), heard)
    await engine.start()
    engine.start_task(task_spec("owned"))
    await until(lambda: heard.has(TaskId("owned", 0), 1, State.RUNNING) and len(engine.slots) == 2, 60)
    print("running", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    await engine.close(1.0)
    print("closed", flush=True)

asyncio.run(main())
"""


async def engine_owner(tmp_path: Path) -> asyncio.subprocess.Process:
    """A process with its own engine, with both slots up and a task running."""
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OWNER.format(root=str(ROOT), runner=RUNNER, ttl=TTL),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
    )
    assert owner.stdout
    assert await owner.stdout.readline() == b"running\n"
    return owner
