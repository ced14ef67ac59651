"""GET /health: the cause of a wait is named."""

from __future__ import annotations

from types import SimpleNamespace

from runtime.herder.monitoring.metrics import WorkerHealth


def test_health_names_the_cause_before_and_after_the_worker_is_ready() -> None:
    cluster, place = SimpleNamespace(cluster_id="", error=""), SimpleNamespace(trouble="")
    health = WorkerHealth(cluster, waiting_for="the group g", membership=place)
    assert health.trouble == "waiting for the group g"
    place.trouble = "User:me is not authorized to READ group g"
    assert health.trouble == "waiting for the group g: User:me is not authorized to READ group g"
    health.ready = True
    assert health.trouble == "User:me is not authorized to READ group g"
    cluster.error = "User:me is not authorized to READ topic t"
    assert health.trouble == "User:me is not authorized to READ topic t"
    place.trouble = cluster.error = ""
    assert health.trouble is None
