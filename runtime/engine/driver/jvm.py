"""Start of the driver's JVM: its options, Spark's properties, its log configuration."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.config.properties import dump
from runtime.config.spark_cluster import is_local
from runtime.java.jvm.java import SHARED_PAGES, TRIM_NATIVE_HEAP

OPTIONS = "spark.driver.extraJavaOptions"

FORCED = {"spark.ui.showConsoleProgress": "false"}

SLOTS_FORCED = {
    "spark.speculation": "false",  # a slot must not run twice
    "spark.python.worker.reuse": "false",
    "spark.task.maxFailures": "1",  # the driver restarts slots itself
}
"""Of an application with slots. In one without, Python workers read one batch after another."""

DEFAULTS = {
    "spark.app.name": "headrace",
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "10",
}

LOCAL_FORCED = {
    "spark.authenticate": "true",  # Spark's ports on loopback are open to every user of the machine
    "spark.python.daemon.module": "runtime.engine.driver.daemon",
    # On a port, Spark's Python daemon forks a process for every connection before it asks for the secret.
    "spark.python.unix.domain.socket.enabled": "true",
}

CLUSTER_DEFAULTS = {
    "spark.decommission.enabled": "true",  # so that slots of executors that are being removed can be drained
    "spark.scheduler.minRegisteredResourcesRatio": "0",  # each slot waits for its executor itself
    # YARN and Kubernetes end an application when executors have failed too often, by default in its whole life.
    "spark.executor.failuresValidityInterval": "1m",
}

KUBERNETES_DEFAULTS = {  # objects beside the executors' pods, for which the service account would need more rights
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
}

LOCAL_DEFAULTS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    # The executor, a part of the driver, only seems to be silent when the clock was set forward or the JVM was stopped.
    # Spark would forget its blocks, and log an error with every heartbeat.
    "spark.storage.blockManagerHeartbeatTimeoutMs": "3650d",
    # Threads that wait for slots, of which Spark would start one for each core; each has 0.1 MB of stack.
    "spark.rpc.netty.dispatcher.numThreads": "2",
    "spark.shuffle.mapOutput.dispatcher.numThreads": "1",
}

_LOCAL_JAVA_OPTIONS = (
    *("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xms24m", TRIM_NATIVE_HEAP),
    *("-XX:+IgnoreUnrecognizedVMOptions", *SHARED_PAGES),
)

SLOTS_JAVA_OPTIONS = (*_LOCAL_JAVA_OPTIONS, "-XX:TieredStopAtLevel=1", "-XX:NewSize=4m", "-XX:NewRatio=4")
"""Of a JVM that only keeps slots: a fast start and little memory matter more than optimised code. By default it would
fill a hundred MB before its first collection."""

SESSION_JAVA_OPTIONS = (
    *_LOCAL_JAVA_OPTIONS,
    *("-XX:Tier3DelayOn=0", "-XX:Tier4InvocationThreshold=50000", "-XX:Tier4MinInvocationThreshold=20000"),
    *("-XX:Tier4CompileThreshold=100000", "-XX:Tier4BackEdgeThreshold=400000", "-XX:NewSize=48m"),
)
"""Of a JVM that computes: the optimising compiler, which would need seconds for code that runs less often, and room for
the objects of a batch's rows, which live short."""

NO_NULL_CHECKS = "-Darrow.enable_null_check_for_get=false"
"""Spark's code for functions of arrays reads numbers before it checks whether they are null, which Arrow refuses."""

LOG4J = """\
status = error
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""

# The worker logs the death of a slot: Spark would log it four times, each with a stack trace. What another user of the
# machine sends to Spark's ports is not logged at all.
MUTED = (
    "org.apache.spark.network.server.TransportRequestHandler",
    "org.apache.spark.api.python.PythonRunner",
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter",  # its errors are answers to the tasks
    "org.apache.spark.sql.execution.datasources.v2.DataWritingSparkTask",
    "org.apache.spark.sql.execution.datasources.v2.OverwriteByExpressionExec",
    "org.apache.spark.sql.execution.streaming",
    "org.apache.spark.util.Utils",
)


def find_java() -> Path | None:
    """The java executable that Spark's own scripts use."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    return Path(java).resolve() if java else None


def java_options(conf: Mapping[str, str], local: bool, folder: Path, own: Sequence[str]) -> list[str]:
    """Options of the JVM; the operator's last. `own`: those of a local one."""
    options = [f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()}", NO_NULL_CHECKS]
    if local:
        crash = f"-XX:ErrorFile={folder / 'crash.log'}"
        options += [f"-Djava.io.tmpdir={folder}", crash, *own]
    return [*options, *shlex.split(conf.get(OPTIONS, ""))]


def spark_properties(
    conf: Mapping[str, str], master: str, folder: Path, sockets: Path, slots: bool = True
) -> dict[str, str]:
    """Spark's properties without the JVM's options: defaults, overridden by the operator's, overridden by required
    ones. `folder` is that of the JVM; `sockets` has a short path, as the paths of sockets must be short.
    `slots`: whether the application has slots."""
    local = is_local(master)
    return {
        **DEFAULTS,
        **(LOCAL_DEFAULTS | {"spark.local.dir": str(folder)} if local else CLUSTER_DEFAULTS),
        **(KUBERNETES_DEFAULTS if master.startswith("k8s://") else {}),
        **{key: value for key, value in conf.items() if key != OPTIONS},
        **FORCED,
        **(SLOTS_FORCED if slots else {}),
        **(LOCAL_FORCED | {"spark.python.unix.domain.socket.dir": str(sockets)} if local else {}),
        "spark.master": master,
    }


def write_log_settings(folder: Path) -> None:
    """Log4j's configuration."""
    muted = "".join(
        f"logger.m{number}.name = {name}\nlogger.m{number}.level = off\n" for number, name in enumerate(MUTED)
    )
    (folder / "log4j2.properties").write_text(LOG4J + muted)


def write_properties(folder: Path, properties: Mapping[str, str]) -> Path:
    """Spark's properties for spark-submit. They may hold secrets and so are not passed as arguments."""
    path = folder / "spark.properties"
    path.touch(mode=0o600)
    path.write_text(dump(properties))
    return path


def environment(conf: Mapping[str, str], local: bool) -> dict[str, str]:
    """Environment variables for Spark's scripts and Python workers. On a cluster, `spark.pyspark.python` or the
    worker's own environment names the Python of the executors; otherwise they need the same path as this process."""
    python = conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
    return {
        "PYSPARK_PYTHON": sys.executable if local or not python else python,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONSAFEPATH": "1",  # as the driver itself: see python_process.py
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
    }
