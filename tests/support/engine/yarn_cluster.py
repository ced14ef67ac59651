"""A YARN cluster on the loopback interface: Hadoop's resource manager and one node manager, whose containers are real
processes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pyspark

from runtime.embedded.processes import ports
from runtime.embedded.processes.process import spawn
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from tests.support.free_ports import free_port
from tests.support.processes import Startable, alive, children, command_line
from tests.support.waiting import wait_until

COORDINATES = (
    "org.apache.hadoop:hadoop-client-minicluster:3.5.0",  # the version of PySpark's own client
    "org.junit.jupiter:junit-jupiter-api:5.12.2",
    "org.junit.platform:junit-platform-commons:1.12.2",
    "org.opentest4j:opentest4j:1.3.0",
    "org.bouncycastle:bcprov-jdk18on:1.82",
    "org.bouncycastle:bcpkix-jdk18on:1.82",
    "org.bouncycastle:bcutil-jdk18on:1.82",
)
_HOME = Path(str(pyspark.__file__)).parent
_SOURCE = Path(__file__).parent / "YarnCluster.java"
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1}: %m%n%ex
"""
_ADDRESSES = ("", ".scheduler", ".resource-tracker", ".admin", ".webapp")


class YarnCluster(Startable):
    """Containers end with their node manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def conf_folder(self) -> Path:
        """HADOOP_CONF_DIR of the cluster's clients."""
        return self._folder / "conf"

    @property
    def properties(self) -> Mapping[str, str]:
        """Properties of an application that uses the cluster. Spark's jars are not uploaded."""
        return {
            "spark.master": "yarn",
            "spark.driver.host": ports.HOST,
            "spark.driver.memory": "512m",
            "spark.executor.instances": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "480m",
            "spark.yarn.am.memory": "512m",
            "spark.yarn.jars": f"local:{_HOME}/jars/*",
            "spark.yarn.stagingDir": f"file://{self._folder}/staging",
            "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": ports.HOST,
            "spark.executorEnv.SPARK_LOCAL_IP": ports.HOST,
            "spark.executor.extraJavaOptions": _QUICK_JVM,
            "spark.yarn.am.extraJavaOptions": _QUICK_JVM,
            "spark.authenticate": "true",
            "spark.network.crypto.enabled": "true",
        }

    def start(self) -> None:
        """Starts the cluster, and waits until the node manager is registered."""
        self.conf_folder.mkdir(parents=True)
        log4j, site = self._folder / "log4j2.properties", self.conf_folder / "yarn-site.xml"
        log4j.write_text(_LOG4J)
        java = find_java()
        class_path = f"{jars.fetch('yarn', COORDINATES, java)}/*{os.pathsep}{_HOME}/jars/*"
        command = [
            str(java.program), "-Xmx512m", *_QUICK_JVM.split(), f"-Dlog4j2.configurationFile={log4j}",
            "-cp", class_path, str(_SOURCE), str(site),
        ]  # fmt: skip
        for key, value in self._conf().items():
            command += [key, value]
        script = ["sh", "-c", 'cd "$0" && exec "$@"', str(self._folder), *command]  # MiniYARNCluster uses ./target
        self._process = spawn(script, self._folder / "yarn.log")
        wait_until(site.exists, 240, "YARN's configuration")

    def executor_of(self, slot: int) -> int:
        """The executor of a slot's process."""
        assert self._process is not None
        below = [pid for pid in children(self._process.pid) if "CoarseGrainedExecutorBackend" in command_line(pid)]
        return next(pid for pid in below if "/java" in command_line(pid).split()[0] and slot in children(pid))

    def stop(self) -> None:
        """Ends all processes."""
        if self._process is not None:
            below = children(self._process.pid)
            self._process.kill()
            self._process.wait()
            wait_until(lambda: not any(map(alive, below)), 60, "no containers")

    def _conf(self) -> Mapping[str, str]:
        resource_manager = "yarn.resourcemanager"
        return {
            "yarn.minicluster.fixed.ports": "true",
            **{f"{resource_manager}{part}.address": f"{ports.HOST}:{free_port()}" for part in _ADDRESSES},
            f"{resource_manager}.scheduler.class": f"org.apache.hadoop.yarn.server.{_FIFO}",
            "yarn.nodemanager.address": f"{ports.HOST}:0",
            "yarn.nodemanager.localizer.address": f"{ports.HOST}:0",
            "yarn.nodemanager.webapp.address": f"{ports.HOST}:0",
            "yarn.nodemanager.resource.memory-mb": "8192",
            "yarn.scheduler.minimum-allocation-mb": "128",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
            "fs.defaultFS": "file:///",
        }


_FIFO = "resourcemanager.scheduler.fifo.FifoScheduler"
