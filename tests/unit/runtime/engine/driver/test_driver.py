"""The driver's process, without Spark."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from tests.support.engine.driver_settings import driver_settings

DRIVER = """
import json, sys, threading
from runtime.engine.driver.driver import Driver
from runtime.engine.protocol.settings import DriverSettings
driver = Driver(DriverSettings.from_json(json.loads(sys.argv[1])))
driver._context = object()  # as one of a JVM that fails
threading.Thread(target=driver._watch_worker, daemon=True).start()
threading.Event().wait()
"""


def test_a_driver_ends_with_its_worker_whatever_a_request_has_caused(tmp_path: Path) -> None:
    settings = json.dumps(asdict(driver_settings(tmp_path)))
    request = json.dumps({"slots": [0], "executors": [], "restart": [0]})
    command = [sys.executable, "-c", DRIVER, settings]
    ended = subprocess.run(
        command, input=f"{request}\n{request[:10]}", stderr=subprocess.PIPE, text=True, start_new_session=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL
    assert "statusTracker" in ended.stderr and "JSONDecodeError" in ended.stderr


ATTEMPTS = """
import json, queue, sys, time
from runtime.engine.driver.driver import Driver
from runtime.engine.protocol.settings import DriverSettings

started, may_end = queue.SimpleQueue(), queue.SimpleQueue()

class WithoutSpark(Driver):
    def _run_job(self, context, slot, attempt):
        started.put((slot, attempt))
        may_end.get()

    def want(self, *slots):
        self._request_slots({"slots": slots, "executors": [], "restart": []})

driver = WithoutSpark(DriverSettings.from_json(json.loads(sys.argv[1])))
driver._context = object()
driver.want(3)
assert started.get(timeout=60) == (3, 1)
driver.want()
may_end.put(None)
while driver._kept:
    time.sleep(0.01)
driver.want(3)
assert started.get(timeout=60) == (3, 2)
"""


def test_a_slot_that_was_given_up_and_is_wanted_again_is_another_attempt(tmp_path: Path) -> None:
    """On a cluster the worker refuses an attempt that it has seen."""
    command = [sys.executable, "-c", ATTEMPTS, json.dumps(asdict(driver_settings(tmp_path)))]
    subprocess.run(command, check=True, start_new_session=True, timeout=120)


AT_A_LIMIT = """
import json, resource, sys
from runtime.engine.driver.driver import Driver
from runtime.engine.protocol.settings import DriverSettings
driver = Driver(DriverSettings.from_json(json.loads(sys.argv[1])))
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
driver.leave()
"""


def test_a_driver_ends_at_the_limit_of_file_descriptors(tmp_path: Path) -> None:
    command = [sys.executable, "-c", AT_A_LIMIT, json.dumps(asdict(driver_settings(tmp_path)))]
    ended = subprocess.run(command, start_new_session=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
