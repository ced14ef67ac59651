"""The JVM of Spark's driver is stopped for longer than an executor may be silent: the same as a clock set forward."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from tests.support.engine.engine_recorder import Recorder, descendants, jvm_of
from tests.support.engine.engine_rig import ROOT, RUNNER
from tests.support.processes import freeze
from tests.support.waiting import until

SILENCE = 2.0  # seconds
_CONF = {
    "spark.executor.heartbeatInterval": "500ms",
    "spark.network.timeout": f"{SILENCE:.0f}s",
    "spark.network.timeoutInterval": "100ms",
}


@pytest.mark.soak
@pytest.mark.asyncio
async def test_spark_keeps_its_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    heard = Recorder()
    settings = EngineSettings(slots=1, runner=RUNNER, archive=False, spark_conf=_CONF)
    engine = SparkEngine(settings, heard)
    await engine.start()
    try:
        await until(lambda: engine.slots, 60.0)
        jvm = jvm_of(descendants(os.getpid()))
        await asyncio.to_thread(freeze, jvm)
        await asyncio.sleep(2 * SILENCE)
        os.kill(jvm, signal.SIGCONT)
        await asyncio.sleep(2 * SILENCE)
        assert not [line for line in heard.lines if line[0] in ("WARN", "ERROR")]
    finally:
        await engine.close(1.0)
