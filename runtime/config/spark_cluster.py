"""Spark's properties for slots on a cluster: where the driver is reached, and what must be encrypted.

A slot's token, and nothing else that is secret, travels over Spark's RPC; assignments with resolved secrets travel over
the slot's own TLS connection.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.config.validators import at_least
from runtime.api.errors import ConfigError
from runtime.config.restart_policy import invalid_own_keys
from runtime.model.executor_size import ExecutorSize

PREFIX = "headrace.executor."
_MEMORY, _CORES = f"{PREFIX}memory.mb", f"{PREFIX}cores"
_JAVA_OVERHEAD = 256
"""MB of a slot and its task host JVM beside the heap of that JVM."""

KEYS = (
    ConfigKey(_MEMORY, ConfigType.INT, 0, Importance.LOW, "On a Spark cluster with dynamic allocation: memory for each "
         "dedicated slot beside the heap of its executor; 0: as all executors, for Java plugins the memory of their "
         "JVM.", at_least(0)),
    ConfigKey(_CORES, ConfigType.INT, 0, Importance.LOW, "On a Spark cluster with dynamic allocation: cores of the "
         "executor of each dedicated slot; 0: one.", at_least(0)),
)  # fmt: skip

_DEFINITION = ConfigDef(*KEYS)


def executor_size_of(config: Mapping[str, str], java_heap: int = 0) -> ExecutorSize:
    """The size in a connector's configuration. `java_heap`: MB of heap of the JVM for its Java plugins; 0 for others.
    ConfigError names an invalid key."""
    v = _DEFINITION.parse(config)
    memory = v[_MEMORY] or (java_heap + _JAVA_OVERHEAD if java_heap else 0)
    return ExecutorSize(memory, v[_CORES])


def invalid_executor_size(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each invalid or unknown key, with the error."""
    return invalid_own_keys(PREFIX, _DEFINITION, config)


CLUSTERS = ("spark://", "k8s://", "yarn")

_AUTHENTICATE = "spark.authenticate"
_ENCRYPTIONS = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled")
_SECRETS = (
    "spark.authenticate.secret", "spark.authenticate.secret.file", "spark.authenticate.secret.driver.file"
)  # fmt: skip


def is_local(master: str) -> bool:
    """Whether slots run on this machine, in Spark's local mode."""
    return master.startswith("local") and not master.startswith("local-cluster")


def on_cluster(conf: Mapping[str, str]) -> bool:
    """Whether slots run on the executors of a cluster."""
    return not is_local(conf.get("spark.master", "local"))


def driver_host(conf: Mapping[str, str]) -> str:
    """The name under which executors reach this machine; empty if it is not configured."""
    return conf.get("spark.driver.host", "")


def bind_address(conf: Mapping[str, str]) -> str:
    """The address on which this machine is reached, as Spark chooses it."""
    return conf.get("spark.driver.bindAddress") or driver_host(conf)


def check_cluster(conf: Mapping[str, str]) -> None:
    """ConfigError unless the master is supported, and Spark's RPC is authenticated and encrypted or stays on this
    machine (`spark.driver.host` is a loopback address, which other machines cannot reach)."""
    master = conf.get("spark.master", "local")
    if is_local(master):
        return
    if not master.startswith(CLUSTERS):
        raise ConfigError(f"spark.master={master} is not supported: use local[…], spark://…, k8s://… or yarn")
    if conf.get("spark.submit.deployMode", "client") != "client":
        raise ConfigError("spark.submit.deployMode must be client: the worker starts Spark's driver itself")
    if not driver_host(conf):
        raise ConfigError(
            f"spark.master={master} needs spark.driver.host: the name or address of this machine by which executors "
            "reach it"
        )
    if _is_loopback(driver_host(conf)):
        return
    encrypted = any(_is_on(conf, key) for key in _ENCRYPTIONS)
    if not (_is_on(conf, _AUTHENTICATE) and encrypted):
        raise ConfigError(
            f"spark.master={master} starts slots on other machines, and their tokens travel over Spark's RPC, which "
            f"must be encrypted: set {_AUTHENTICATE}=true, and {_ENCRYPTIONS[0]}=true or {_ENCRYPTIONS[1]}=true, here "
            "and on the cluster. Only with a loopback address as spark.driver.host, for a cluster on this machine, "
            "may they be missing"
        )
    if master.startswith("spark://") and not any(conf.get(key) for key in _SECRETS):
        raise ConfigError(
            f"{_AUTHENTICATE}=true needs the secret of the standalone cluster: set {_SECRETS[0]} or {_SECRETS[1]}"
        )


def _is_on(conf: Mapping[str, str], key: str) -> bool:
    return conf.get(key, "").strip().lower() == "true"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
