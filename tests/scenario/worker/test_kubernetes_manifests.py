"""The manifests of docs/ops/kubernetes: valid, and those of a worker that becomes ready by its own probes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate
import pytest
import yaml

from runtime.config import properties
from tests.support.broker import KafkaBroker, unique
from tests.support.engine.kubernetes_cluster import Namespace, kubernetes_namespace
from tests.support.free_ports import free_port
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, our_worker, storage_topics

FOLDER = Path(__file__).parents[3] / "docs" / "ops" / "kubernetes"
MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"


def _objects() -> Iterator[dict[str, Any]]:
    for file in sorted(FOLDER.rglob("*.yaml")):
        if file.name != "kustomization.yaml":
            yield from yaml.safe_load_all(file.read_text())


def _object(kind: str) -> dict[str, Any]:
    (found,) = [one for one in _objects() if one["kind"] == kind]
    return found


@pytest.mark.parametrize("found", list(_objects()), ids=lambda found: f"{found['kind']}-{found['metadata']['name']}")
@pytest.mark.parametrize("version", ["1.31", "1.37"])
def test_each_object_is_valid(found: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(found, version, strict=True)


def test_a_worker_becomes_ready_by_the_probes_of_its_pod(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the properties of the config map, but for addresses and folders of this machine."""
    files = _object("ConfigMap")["data"]
    (container,) = _object("StatefulSet")["spec"]["template"]["spec"]["containers"]
    _mount(tmp_path / "worker", files)
    _mount(tmp_path / "secrets", {"topic": "from-a-secret"})
    _mount(tmp_path / "users", {
        "users.properties": "admin=admin-secret\nprobe=probe-secret\n",
        "jaas.conf": f'KafkaConnect {{ {MODULE} required file="{tmp_path}/users/users.properties"; }};\n',
    })  # fmt: skip
    monkeypatch.setenv("POD_NAME", "headrace-worker-0")
    monkeypatch.setenv("PROBE", "probe:probe-secret")
    given = properties.parse(files["worker.properties"].replace("/etc/headrace/", f"{tmp_path}/"))
    group, port = unique("pods"), free_port()
    own = {"bootstrap.servers": broker.bootstrap, "listeners": f"http://127.0.0.1:{port}", "group.id": group}
    worker = our_worker(tmp_path, broker.bootstrap, {**given, **own, **storage_topics(group)})
    worker.url = f"http://127.0.0.1:{port}"

    def probe(kind: str) -> subprocess.CompletedProcess[str]:
        python, script, url = container[kind]["exec"]["command"]
        assert (python, script) == ("python", "/etc/headrace/worker/probe.py")
        command = [sys.executable, tmp_path / "worker" / "probe.py", url.replace("http://127.0.0.1:8083", worker.url)]
        return subprocess.run(command, capture_output=True, text=True, timeout=30)

    refused = probe("readinessProbe")
    assert refused.returncode == 1
    assert f"{worker.url}/health: <urlopen error [Errno 111] Connection refused>" in refused.stderr
    worker.start(wait=False)
    try:
        wait_until(lambda: probe("readinessProbe").returncode == 0, 60, "a ready worker")
        assert probe("startupProbe").returncode == probe("livenessProbe").returncode == 0
        assert worker.request("GET", "/health")[0] == 401, "without a password"
        config = {"connector.class": "FileStreamSource", "file": "/nowhere", "topic": "${directory:%s/secrets:topic}"}
        config["topic"] %= tmp_path
        created = {"name": "a", "config": config, "initial_state": "STOPPED"}
        assert _ask(worker, "probe", "POST", "/connectors", created).status_code == 403
        assert _ask(worker, "admin", "POST", "/connectors", created).status_code == 201
        status = _ask(worker, "probe", "GET", "/connectors/a/status").json()
        assert status["connector"]["worker_id"] == "headrace-worker-0.headrace-workers:8083"
        assert "-secret" not in worker.log.read_text().replace("from-a-secret", "")
    finally:
        worker.stop()


@pytest.mark.soak
@pytest.mark.skipif(not os.environ.get("KUBECONFIG"), reason="needs a Kubernetes cluster: set KUBECONFIG")
def test_a_cluster_accepts_the_manifests_and_gives_workers_only_the_rights_they_need(tmp_path: Path) -> None:
    with kubernetes_namespace(tmp_path / "cluster") as namespace:
        _apply(namespace, tmp_path / "base")
        assert not _may(namespace, "create", "pods"), "without executors in pods of their own"
        _apply(namespace, tmp_path / "executors")
        assert _may(namespace, "create", "pods") and _may(namespace, "deletecollection", "pods")
        assert not any(_may(namespace, verb, "secrets") for verb in ("get", "list", "create"))
        kinds = "statefulset,service,configmap,poddisruptionbudget,networkpolicy,rolebinding"
        stored = namespace.kubectl("get", kinds, "--output=name").split()
        assert {"statefulset.apps/headrace-worker", "service/headrace", "service/headrace-workers"} <= set(stored)
        wait_until(lambda: "headrace-worker-0" in namespace.kubectl("get", "pods", "--output=name"), 60, "a pod")


def _apply(namespace: Namespace, folder: Path) -> None:
    """The manifests of docs/ops/kubernetes that have the folder's name, in this namespace."""
    folder.mkdir()
    resource = os.path.relpath(FOLDER / folder.name, folder.resolve())
    (folder / "kustomization.yaml").write_text(f"namespace: {namespace.name}\nresources: [{resource}]\n")
    namespace.kubectl("apply", "--validate=strict", "-k", str(folder))


def _may(namespace: Namespace, verb: str, resource: str) -> bool:
    """Whether the workers' service account may do this in its namespace."""
    attributes = {"namespace": namespace.name, "verb": verb, "resource": resource}
    spec = {"user": f"system:serviceaccount:{namespace.name}:headrace-worker", "resourceAttributes": attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    allowed = "--output=jsonpath={.status.allowed}"
    return namespace.kubectl("create", "-f", "-", allowed, stdin=json.dumps(review)) == "true"


def _mount(folder: Path, files: Mapping[str, str]) -> None:
    """As Kubernetes mounts config maps and secrets: links to files in a folder that an update replaces."""
    version = folder / "..2026_01_01_00_00_00.1"
    version.mkdir(parents=True)
    (folder / "..data").symlink_to(version.name)
    for name, text in files.items():
        (version / name).write_text(text)
        (folder / name).symlink_to(f"..data/{name}")


def _ask(worker: WorkerProcess, user: str, method: str, path: str, body: Any = None) -> httpx.Response:
    return httpx.request(method, f"{worker.url}{path}", json=body, auth=(user, f"{user}-secret"), timeout=30)
