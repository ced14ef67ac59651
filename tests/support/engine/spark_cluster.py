"""A standalone Spark cluster on the loopback interface: a master and two workers, from PySpark's own jars."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark

from runtime.embedded.processes import ports
from runtime.embedded.processes.process import spawn
from tests.support.engine.engine_rig import ROOT
from tests.support.free_ports import free_port
from tests.support.processes import Startable, alive, children, command_line
from tests.support.waiting import wait_until

CORES = 2
"""Of each worker, and of its executor."""

SECRET = "the-secret-of-the-cluster"
_ENCRYPTION = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": SECRET,
    "spark.network.crypto.enabled": "true",
}
_DAEMON = "pyspark.daemon"
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"


class SparkCluster(Startable):
    """Executors belong to the workers, and end with the application or with their worker."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._port = free_port()
        self._count = workers
        self._master: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def properties(self) -> Mapping[str, str]:
        """Properties of an application that uses the cluster."""
        return {
            "spark.master": f"spark://{ports.HOST}:{self._port}",
            "spark.driver.host": ports.HOST,
            "spark.driver.memory": "512m",
            "spark.executor.cores": str(CORES),
            "spark.executor.memory": "480m",
            "spark.executor.extraJavaOptions": _QUICK_JVM,
            "spark.driver.extraJavaOptions": _QUICK_JVM,
            **_ENCRYPTION,
        }

    def start(self) -> None:
        """Starts master and workers, and waits until the workers are registered."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._master = self._spawn("master", "master.Master", "--port", str(self._port))
        wait_until(lambda: ports.is_open(self._port), 60, "Spark's master listens")
        for number in range(self._count):
            self.add_worker(f"worker-{number}")

        def registered() -> bool:
            logs = [self._folder / f"worker-{number}.log" for number in range(self._count)]
            return all("Successfully registered" in log.read_text() for log in logs)

        wait_until(registered, 60, "Spark's workers are registered")

    def add_worker(self, name: str) -> None:
        """Starts another worker."""
        arguments = ["--cores", str(CORES), "--memory", "2g", "--work-dir", str(self._folder / name)]
        self.workers.append(self._spawn(name, "worker.Worker", *arguments, f"spark://{ports.HOST}:{self._port}"))

    def executors(self) -> list[int]:
        """The processes of all executors."""
        below = [child for worker in self.workers for child in children(worker.pid)]
        return [pid for pid in below if alive(pid) and "CoarseGrainedExecutorBackend" in command_line(pid)]

    def slots(self, *executors: int) -> list[int]:
        """The Python processes of the slots of all executors, or of these: forks of Spark's daemon, which has the same
        command line."""
        found = []
        for executor in executors or self.executors():
            python = [child for child in children(executor) if _DAEMON in command_line(child)]
            found += [child for child in python if not any(_DAEMON in command_line(pid) for pid in children(child))]
        return [pid for pid in found if alive(pid)]

    def executor_of(self, slot: int) -> int:
        """The executor of a slot's process."""
        return next(pid for pid in self.executors() if slot in children(pid))

    def stop(self) -> None:
        """Ends all processes."""
        started = [process for process in (*self.workers, self._master) if process is not None]
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()

    def _spawn(self, name: str, cls: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = Path(str(pyspark.__file__)).parent
        options = " ".join(f"-D{key}={value}" for key, value in _ENCRYPTION.items())
        env = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": ports.HOST,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{_QUICK_JVM} {options}",
            "SPARK_LAUNCHER_OPTS": _QUICK_JVM,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),  # for task runners of tests; executors get the worker's code as an archive
        }
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{cls}"]
        return spawn(
            [*command, "--host", ports.HOST, "--webui-port", "0", *arguments], self._folder / f"{name}.log", env
        )
