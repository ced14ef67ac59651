"""Starts the driver's JVM, and connects PySpark to it.

The JVM of a local master is started directly. Spark's own way starts a shell, a JVM that prints a command, and a JVM
that runs spark-submit, for a second of processor time. Settings that spark-submit interprets need that way, and so do
other masters.
"""

from __future__ import annotations

import os
import pwd
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.engine.driver.class_path import class_path, spark_home
from runtime.engine.driver.jvm import OPTIONS, write_properties
from runtime.system.processes import die_with_parent

_MAIN = "org.apache.spark.api.python.PythonGatewayServer"
_POLL = 0.005  # seconds
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"

# Packages that Spark opens to itself, as its launcher does (JavaModuleOptions of Spark).
_OPENED = (
    *(f"java.base/java.{name}" for name in ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util")),
    *(f"java.base/java.util.concurrent{name}" for name in ("", ".atomic")),
    *(f"java.base/{name}" for name in ("jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action")),
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
_JAVA_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
)

_INTERPRETED = (  # by spark-submit, which sets up class paths and credentials
    *("spark.driver.extraClassPath", "spark.driver.extraLibraryPath", "spark.driver.userClassPathFirst"),
    *("spark.jars.", "spark.submit.", "spark.kerberos.", "spark.files", "spark.archives"),
)
_ENVIRONMENT = (  # an installation with settings of its own; folders that the scripts put on the class path
    *("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH"),
    *("HADOOP_CONF_DIR", "YARN_CONF_DIR"),
)
_ELSEWHERE = re.compile(r"\w+:(?!//)|(?!file)\w+://|.*\*")  # jars that spark-submit downloads or finds


def is_direct(conf: Mapping[str, str], local: bool) -> bool:
    """Whether the JVM can be started without spark-submit, given the operator's properties."""
    jars = conf.get("spark.jars", "").split(",")
    return (
        local
        and not any(map(os.environ.get, _ENVIRONMENT))
        and not Path(spark_home(), "conf").exists()
        and not any(key.startswith(_INTERPRETED) for key in conf)
        and not any(_ELSEWHERE.match(jar.strip()) for jar in jars)
    )


class LocalJvm:
    """The JVM of a local master. It ends when its standard input is closed, also by the death of this process."""

    def __init__(self, java: Path, folder: Path, properties: Mapping[str, str], options: Sequence[str]) -> None:
        """Start the process. `properties`: Spark's, which the SparkConf of the driver has to set."""
        self._info = folder / "gateway"
        environment = {**os.environ, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._info), "SPARK_HOME": str(spark_home())}
        own = shlex.split(properties.get("spark.driver.defaultJavaOptions", ""))
        command = [
            *(str(java), "-cp", os.pathsep.join(map(str, class_path(properties)))),
            *(f"-Xmx{properties['spark.driver.memory']}", *own, *options, *_JAVA_OPTIONS, _MAIN),
        ]
        end = die_with_parent(signal.SIGKILL)  # at once: another JVM may follow that continues its work
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, preexec_fn=end)

    def connect(self) -> Any:
        """The gateway to the JVM, once it listens. Raises OSError if it has ended."""
        port, secret = self._address()
        from pyspark.java_gateway import launch_gateway

        os.environ |= {_PORT: str(port), _SECRET: secret}  # else launch_gateway() starts another JVM
        try:
            gateway = launch_gateway()
        finally:
            del os.environ[_PORT], os.environ[_SECRET]
        gateway.proc = self.process
        return gateway

    def _address(self) -> tuple[int, str]:
        """Port and secret. The JVM renames the file when it is complete."""
        while not self._info.exists():
            if (code := self.process.poll()) is not None:
                raise OSError(f"Spark's JVM has ended with exit code {code}")
            time.sleep(_POLL)
        content = self._info.read_bytes()
        self._info.unlink()
        return int.from_bytes(content[:4]), content[8:].decode()


def submitted(folder: Path, properties: Mapping[str, str], options: Sequence[str]) -> Any:
    """The gateway to a JVM that spark-submit has started."""
    from pyspark.java_gateway import launch_gateway

    file = write_properties(folder, {**properties, OPTIONS: shlex.join(options)})
    os.environ["PYSPARK_SUBMIT_ARGS"] = submit_arguments(file)
    return launch_gateway()


def submit_arguments(file: Path) -> str:
    """The command line of spark-submit, which PySpark divides into words. `file`: Spark's properties."""
    return shlex.join(["--properties-file", str(file), "--load-spark-defaults", "pyspark-shell"])


def without_numpy_converters() -> None:
    """Remove PySpark's converters of NumPy values, whose can_convert() imports pyspark.testing, and with it PyArrow:
    21 MB and 0.2 s. The driver passes no such values to the JVM."""
    from py4j.protocol import INPUT_CONVERTER

    INPUT_CONVERTER[:] = [converter for converter in INPUT_CONVERTER if "Numpy" not in type(converter).__name__]


def name_unknown_user(jvm: Any) -> None:
    """Name the user as a number in Hadoop, whose login fails for a user without a name, as in a container that runs
    with any uid (`Invalid UID, could not determine effective user`)."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        users = jvm.org.apache.hadoop.security.UserGroupInformation
        users.setLoginUser(users.createRemoteUser(str(os.getuid())))
