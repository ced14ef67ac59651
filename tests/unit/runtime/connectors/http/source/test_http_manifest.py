"""HttpSource: manifests, which are translated into the keys of the configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.http.source.connector import HttpSourceConnector
from runtime.connectors.http.source.manifest.fields import AUTH, MAPS, STREAM
from runtime.connectors.http.source.manifest.translation import stream_configs
from runtime.connectors.http.source.task import HttpSourceTask
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.tasks.http_source import ids, take
from tests.support.tasks.task_contexts import StoredOffsets, started

MANIFEST = """
base_url: https://api.example.com/v1
auth:
  type: bearer
  token: t0ken
headers:
  X-Version: 2026-01-01
defaults:
  pagination: {type: page, parameter: p, size: 100, size_parameter: per_page}
  poll_interval: 5m
streams:
  - name: repositories
    path: /orgs/apache/repos
    primary_key: id
    parameters: {archived: no, since: "${cursor}"}
    cursor: {field: pushed_at, start: 2026-01-01T00:00:00Z}
  - name: issues
    topic: github.issues
    path: repos/${parent.owner.login}/${parent.name}/issues
    primary_key: [repository, number]
    parent: {stream: repositories, missing: fail, fields: [repository=name], max_in_flight: 4}
    pagination: {type: link}
    records: /items
    schema: infer
    schema_sample: 10
  - name: reactions
    path: https://api.example.com/reactions/${parent.id}/${parent.parent.id}
    parent: issues
  - name: changes
    path: /changes
    parent: {stream: repositories, incremental: true}
    parameters: {repo: "${parent.id}", to: "${slice.last}"}
    slices: {start: 2026-01-01, step: 1h, format: epoch, lookback: 10m, end_delay: 30s}
    body: {query: "{ x }", variables: {from: "${slice.start}", deep: true, first: 5}}
"""

TOP = {"http.auth.type": "bearer", "http.auth.token": "t0ken", "http.header.X-Version": "2026-01-01"}
DEFAULTS = {
    "http.pagination": "page", "http.pagination.parameter": "p", "http.pagination.size": "100",
    "http.pagination.size.parameter": "per_page",
}  # fmt: skip
LISTED = {"http.url": "https://api.example.com/v1/orgs/apache/repos", "http.parameter.archived": "no", **DEFAULTS}
SINCE = {
    "http.parameter.since": "${cursor}", "http.cursor.pointer": "/pushed_at",
    "http.cursor.initial": "2026-01-01T00:00:00Z",
}  # fmt: skip
INTERVAL = {"http.poll.interval.ms": "300000"}
ISSUES = {
    **DEFAULTS,
    "http.url": "https://api.example.com/v1/repos/${parent.owner.login}/${parent.name}/issues",
    "http.pagination": "link",
    "http.records.pointer": "/items",
}


def under(prefix: str, config: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}{key.removeprefix('http.')}": value for key, value in config.items()}


FLAT = {
    "repositories": {
        **TOP, **LISTED, **SINCE, **INTERVAL, "http.stream": "repositories", "topic": "repositories",
        "http.key.pointer": "/id",
    },
    "issues": {
        **TOP, **ISSUES, **INTERVAL, "http.stream": "issues", "topic": "github.issues",
        "http.key.pointer": "/repository,/number", "http.value.schema": "infer", "http.value.schema.sample": "10",
        "http.parent.missing": "fail", "http.parent.fields": "repository=name", "http.max.in.flight": "4",
        **under("http.parent.", LISTED),
    },
    "reactions": {
        **TOP, **DEFAULTS, **INTERVAL, "http.stream": "reactions", "topic": "reactions",
        "http.url": "https://api.example.com/reactions/${parent.id}/${parent.parent.id}",
        **under("http.parent.", ISSUES), **under("http.parent.parent.", LISTED),
    },
    "changes": {
        **TOP, **DEFAULTS, **INTERVAL, "http.stream": "changes", "topic": "changes",
        "http.url": "https://api.example.com/v1/changes", "http.parameter.repo": "${parent.id}",
        "http.parameter.to": "${slice.last}",
        "http.body": '{"query":"{ x }","variables":{"from":"${slice.start}","deep":true,"first":5}}',
        "http.slice.start": "2026-01-01", "http.slice.step.ms": "3600000", "http.slice.format": "epoch",
        "http.slice.lookback.ms": "600000", "http.slice.end.delay.ms": "30000",
        **under("http.parent.", LISTED | SINCE),
    },
}  # fmt: skip


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_each_field_stands_for_a_key(form: str, tmp_path: Path) -> None:
    text = MANIFEST if form == "yaml" else json.dumps(yaml.load(MANIFEST, yaml.BaseLoader)).replace(
        '"deep": "true", "first": "5"', '"deep": true, "first": 5')  # fmt: skip
    file = tmp_path / f"api.{form}"
    file.write_text(text)
    for value in (text, str(file)):
        configs = stream_configs({"http.manifest": value})
        assert {name: stream.config for name, stream in configs.items()} == FLAT
        values = HttpSourceConnector().validate({"http.manifest": value})
        assert [error for each in values for error in each.errors] == []


def test_the_example_of_the_documentation_is_valid() -> None:
    page = Path(__file__).parents[6] / "docs" / "connectors" / "http.md"
    (example,) = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    values = HttpSourceConnector().validate({"http.manifest": example, "http.auth.token": "t0ken"})
    assert [error for value in values for error in value.errors] == []
    section = page.read_text().partition("### Manifest\n")[2].partition("\n## ")[0]
    fields = set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))
    known = {*AUTH, *STREAM, *MAPS, "base_url", "defaults", "streams", "name", "parent.stream", "parent.incremental"}
    assert fields == known


def test_keys_of_the_connector_take_precedence() -> None:
    config = {"http.manifest": MANIFEST, "http.auth.token": "secret", "http.poll.interval.ms": "1000"}
    configs = stream_configs(config)
    assert {(s.config["http.auth.token"], s.config["http.poll.interval.ms"]) for s in configs.values()} == {
        ("secret", "1000")
    }
    config["http.parent.missing"] = "skip"
    configs = stream_configs(config)
    assert configs["issues"].config["http.parent.missing"] == "skip"
    assert "http.parent.missing" not in configs["repositories"].config
    assert not any(value.errors for value in HttpSourceConnector().validate(config))


def test_the_streams_are_spread_over_the_tasks() -> None:
    connector = HttpSourceConnector()
    connector.start({"http.manifest": MANIFEST, "http.manifest.streams": "repositories, issues,changes"})
    names = [[config["http.manifest.streams"] for config in connector.task_configs(most)] for most in (1, 2, 9)]
    assert names == [
        ["repositories,issues,changes"], ["repositories,issues", "changes"], ["repositories", "issues", "changes"]
    ]  # fmt: skip


class Shop:
    """Customers and their orders."""

    def __call__(self, request: Received) -> Answer:
        assert request.headers["authorization"] == "Bearer t0ken"
        if request.path == "/api/customers":
            since = int(request.query.get("since", "0"))
            return 200, {}, {"data": [{"id": n, "name": f"c{n}"} for n in (1, 2, 3) if n > since]}
        number = int(request.path.split("/")[3])
        return 200, {}, {"data": [{"id": number * 10 + n} for n in (1, 2)]}


SHOP = """
base_url: {url}/api
auth: {{type: bearer}}
defaults: {{records: data, poll_interval: 1h}}
streams:
  - name: customers
    path: /customers
    cursor: {{field: id}}
    parameters: {{since: "${{cursor}}"}}
  - name: orders
    path: /customers/${{parent.id}}/orders
    primary_key: [customer, id]
    parent: {{stream: customers, fields: customer=name}}
"""


def test_the_streams_of_a_manifest_are_read_and_continue_after_a_restart() -> None:
    orders = [11, 12, 21, 22, 31, 32]
    with http_server(Shop()) as server:
        config = {"http.manifest": SHOP.format(url=server.url), "http.auth.token": "t0ken"}
        stored = StoredOffsets()
        task = started(HttpSourceTask(), config, stored)
        try:
            first = take(task, 1)
            stored.commit(first)
            committed = StoredOffsets(list(stored.stored))
            rest = take(task, 9 - len(first))
        finally:
            task.stop()
        records = first + rest
        by_topic = {topic: [r for r in records if r.topic == topic] for topic in ("customers", "orders")}
        assert ids(by_topic["customers"]) == [1, 2, 3]
        assert ids(by_topic["orders"]) == orders
        order = by_topic["orders"][0]
        assert order.value == {"id": 11, "customer": "c1"}
        assert order.key == {"customer": "c1", "id": "11"}
        url = f"{server.url}/api/customers/${{parent.id}}/orders"
        assert order.source_partition == {"url": url, "stream": "orders", "parent.id": 1}

        task = started(HttpSourceTask(), config, committed)
        try:
            again = take(task, 9 - len(first))
        finally:
            task.stop()
        assert sorted(ids(again)) == sorted(ids(rest))
        altered = [({"url": f"{server.url}/api/customers", "stream": "customers"}, {"cursor": 1})]
        assert HttpSourceConnector().alter_offsets(config, altered)
        with pytest.raises(ConnectError, match="source partition"):
            HttpSourceConnector().alter_offsets(config, [({"url": f"{server.url}/api/customers"}, {"cursor": 1})])


ONE = {"name": "a", "path": "/a"}


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"stream": []}, "stream is unknown; did you mean streams?"),
        ({}, "streams must be a list of streams"),
        ({"streams": [{"path": "/a"}]}, "streams[0].name must be a name"),
        ({"streams": [ONE, ONE]}, "streams[1].name: another stream has the name a"),
        ({"streams": [ONE | {"paginaton": {}}]}, "streams.a.paginaton is unknown; did you mean pagination?"),
        ({"streams": [ONE | {"pagination": {"typ": "page"}}]},
         "streams.a.pagination.typ is unknown; did you mean type?"),
        ({"streams": [ONE | {"pagination": "page"}]}, "streams.a.pagination must be a mapping"),
        ({"streams": [ONE | {"topic": ["a"]}]}, "streams.a.topic must be a text or number"),
        ({"streams": [ONE | {"poll_interval": 30}]}, "streams.a.poll_interval must be a duration such as"),
        ({"defaults": {"poll_interval": "1 week"}, "streams": [ONE]}, "defaults.poll_interval must be a duration"),
        ({"streams": [ONE | {"parent": "b"}]}, "streams.a.parent: the stream b is unknown; use a"),
        ({"streams": [ONE | {"parent": "a"}]}, "streams.a.parent: a is its own parent"),
        ({"streams": [ONE | {"parent": "b"}, {"name": "b", "path": "/b", "slices": {"start": "2026-01-01"}}]},
         "streams.a.parent: all records of this stream cannot be listed; set incremental: true"),
        ({"auth": {"typ": "bearer"}, "streams": [ONE]}, "auth.typ is unknown; did you mean type?"),
        ({"auth": {"type": "bearer"}, "streams": [ONE]}, "streams.a: auth.token is required with auth.type=bearer"),
        ({"streams": [ONE | {"pagination": {"type": "pages"}}]}, "streams.a.pagination.type: Invalid value pages"),
        ({"streams": [ONE | {"pagination": {"type": "token"}}]},
         "streams.a: pagination.next is required with pagination.type=token"),
        ({"streams": [ONE | {"parameters": {"s": "${cursor}"}}]},
         "streams.a: cursor.field is required by ${cursor}"),
        ({"streams": [ONE | {"parameters": {"s": "${x}"}}]},
         "streams.a.path: Invalid value for configuration parameters.s"),
    ],
)  # fmt: skip
def test_errors_name_the_path_in_the_manifest(manifest: Mapping[str, Any], message: str) -> None:
    config = {"http.manifest": json.dumps({"base_url": "https://x", **manifest})}
    errors = [error for value in HttpSourceConnector().validate(config) for error in value.errors]
    assert message in " ".join(errors)
    with pytest.raises(ConfigError):
        HttpSourceConnector().start(config)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/no/such/file.yaml", "the file /no/such/file.yaml cannot be read: No such file"),
        ("streams:\n  - a: [", "not valid YAML: "),
        ("streams:\n  - name: a\n    name: b\n", "'name' is given twice in one place"),
        ('{"streams": }', "not valid JSON: Expecting value in line 1"),
        ("- a\n- b\n", "the manifest must be a mapping"),
    ],
)
def test_texts_that_are_not_manifests(text: str, message: str) -> None:
    values = {value.name: value for value in HttpSourceConnector().validate({"http.manifest": text})}
    assert message in " ".join(values["http.manifest"].errors)
    assert not values["http.url"].errors


def test_selected_streams_must_exist() -> None:
    config = {"http.manifest": MANIFEST, "http.manifest.streams": "isues", "http.url": "https://x"}
    values = {value.name: value.errors for value in HttpSourceConnector().validate(config)}
    assert "the stream isues in http.manifest.streams is unknown; did you mean issues?" in values["http.manifest"][0]
    assert values["http.url"] == ["Set either http.url or http.manifest"]
