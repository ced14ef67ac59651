"""The comparison of replayed steps with recorded ones: free text may differ, nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.parity.comparison import differences

STEP: dict[str, Any] = {
    "scenario": "s", "step": "a", "kind": "http", "method": "PUT", "path": "/connectors/a", "request": {"k": "v"},
    "status": 400, "headers": {"content-type": "application/json"}, "body": {"error_code": 400, "message": "no"},
}  # fmt: skip
FAILED = {"status": 500, "body": {"error_code": 500, "message": "failed"}}
HTML = {"body": {"_text": "<not JSON>"}, "headers": {"content-type": "text/html"}}


@pytest.mark.parametrize(
    ("recorded", "replayed", "places"),
    [
        pytest.param({}, {}, [], id="equal"),
        pytest.param({}, {"body": {"error_code": 400, "message": "other"}}, [], id="text"),
        pytest.param({}, {"body": {"error_code": 409, "message": "no"}}, [".body.error_code"], id="body"),
        pytest.param({}, {"body": {"error_code": 400}}, [".body.message"], id="a field is missing"),
        pytest.param({}, {"headers": {"content-type": "text/plain"}}, ["header content-type"], id="header"),
        pytest.param({}, {"status": 404}, ["status", "body"], id="status"),
        pytest.param({}, {"request": {"k": "w"}}, [".request.k"], id="request"),
        pytest.param({}, {"method": "POST"}, [".method"], id="method"),
        pytest.param({}, {"step": "b"}, ["step", "step"], id="label"),
        pytest.param(FAILED, {}, [], id="4xx for 500"),
        pytest.param(FAILED, {"body": None}, ["status", "body"], id="4xx without a message for 500"),
        pytest.param(HTML, {}, [], id="JSON for a page"),
        pytest.param({"body": None, "headers": {}}, {}, [], id="an error with a body"),
        pytest.param(
            {"headers": {"location": "/a"}}, {"headers": {"location": "/b"}}, ["header location"], id="location"
        ),
        pytest.param({"ok": True}, {"ok": False}, ["ok"], id="condition"),
        pytest.param({"data": [1, 2]}, {"data": [1]}, [".data"], id="data"),
    ],
)
def test_differences(recorded: dict[str, Any], replayed: dict[str, Any], places: list[str]) -> None:
    found = differences("s", [{**STEP, **recorded}], [{**STEP, **replayed}])
    assert [line[4:] for text in found for line in text.split("\n")[1:] if line[4] != " "] == places
