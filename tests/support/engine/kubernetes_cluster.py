"""A namespace of the Kubernetes cluster that KUBECONFIG names, with a service account for the worker."""

from __future__ import annotations

import base64
import json
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.broker import unique

NEEDED = ("KUBECONFIG", "HEADRACE_TEST_KUBERNETES_IMAGE", "HEADRACE_TEST_BOOTSTRAP")
"""The cluster, an image with Headrace's dependencies in /opt/headrace (docs/spark-cluster.md), and a broker that pods
and this machine reach at the same address."""

_PYTHON = "/opt/headrace/bin/python"
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_VERBS = ["create", "get", "list", "watch", "delete", "deletecollection"]
_RIGHTS = [{"apiGroups": [""], "resources": ["pods"], "verbs": _VERBS}]


class Namespace:
    """Objects are made with kubectl and the rights of KUBECONFIG; the worker has only those of its service account."""

    def __init__(self, folder: Path) -> None:
        self.name, self.secret = unique("headrace"), secrets.token_hex(16)
        self._folder = folder
        config = self.kubectl("config", "view", "--minify", "--raw", "--flatten", "--output=json")
        cluster = json.loads(config)["clusters"][0]["cluster"]
        self._server = cluster["server"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))

    @property
    def host(self) -> str:
        """The address of this machine on the way to the cluster, by which its pods reach this machine."""
        api = urlsplit(self._server)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
            way.connect((api.hostname, api.port or 443))
            return str(way.getsockname()[0])

    @property
    def properties(self) -> Mapping[str, str]:
        """Properties of a worker with two executors. The secret of Spark's RPC is not in their pods."""
        return {
            "spark.master": f"k8s://{self._server}",
            "spark.kubernetes.namespace": self.name,
            "spark.kubernetes.container.image": os.environ["HEADRACE_TEST_KUBERNETES_IMAGE"],
            "spark.kubernetes.authenticate.caCertFile": str(self._folder / "ca.crt"),
            "spark.kubernetes.authenticate.oauthTokenFile": str(self._folder / "token"),
            "spark.kubernetes.executor.secretKeyRef._SPARK_AUTH_SECRET": "spark:encoded",
            "spark.kubernetes.executor.request.cores": "0.2",
            "spark.pyspark.python": _PYTHON,
            "spark.driver.host": self.host,
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": _QUICK_JVM,
            "spark.executor.instances": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "480m",
            "spark.executor.extraJavaOptions": _QUICK_JVM,
            "spark.authenticate": "true",
            "spark.network.crypto.enabled": "true",
            "spark.authenticate.secret.driver.file": str(self._folder / "secret"),
            "spark.authenticate.secret.executor.file": "secret",
        }

    def create(self) -> None:
        """Creates the namespace, the service account with its rights and a token, and Spark's secret."""
        token, secret = self._folder / "token", self._folder / "secret"
        secret.write_text(self.secret)
        metadata = {"name": "headrace", "namespace": self.name}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "headrace"}
        subject = {"kind": "ServiceAccount", **metadata}
        self._apply("v1", "Namespace", {"name": self.name})
        self._apply("v1", "ServiceAccount", metadata)
        self._apply("rbac.authorization.k8s.io/v1", "Role", metadata, rules=_RIGHTS)
        self._apply("rbac.authorization.k8s.io/v1", "RoleBinding", metadata, roleRef=role, subjects=[subject])
        encoded = base64.b64encode(self.secret.encode()).decode()  # as Spark uses the content of the driver's file
        self._apply("v1", "Secret", {**metadata, "name": "spark"}, stringData={"encoded": encoded})
        token.write_text(self.kubectl("create", "token", "headrace", "--duration=6h").strip())

    def delete(self) -> None:
        """Deletes the namespace with everything in it."""
        self.kubectl("delete", "namespace", self.name, "--timeout=120s")

    def pods(self, **labels: str) -> list[dict[str, Any]]:
        """The pods of executors that are not being deleted."""
        selector = ",".join(f"{key}={value}" for key, value in {"spark-role": "executor", **labels}.items())
        found = json.loads(self.kubectl("get", "pods", "--output=json", f"--selector={selector}"))["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def kill(self, pod: str) -> None:
        """Deletes a pod and ends its processes at once."""
        self.kubectl("delete", "pod", pod, "--grace-period=0", "--force", "--wait=false")

    def drain(self, pod: str) -> None:
        """Deletes a pod as the drain of its node does."""
        self.kubectl("delete", "pod", pod, "--wait=false")

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """The output of kubectl in this namespace."""
        command = ["kubectl", f"--namespace={self.name}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def _apply(self, version: str, kind: str, metadata: Mapping[str, str], **more: Any) -> None:
        made = {"apiVersion": version, "kind": kind, "metadata": metadata, **more}
        self.kubectl("apply", "--filename=-", stdin=json.dumps(made))


@contextmanager
def kubernetes_namespace(folder: Path) -> Iterator[Namespace]:
    """A namespace that is deleted at the end."""
    namespace = Namespace(folder)
    try:
        namespace.create()
        yield namespace
    finally:
        namespace.delete()
