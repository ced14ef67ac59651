"""HttpSource: streams whose requests need the records of another endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from runtime.api.errors import ConnectError
from runtime.connectors.http.source.connector import HttpSourceConnector
from tests.support.servers.http_endpoint import Answer, HttpTestServer, Received, http_server
from tests.support.tasks.http_source import COMMON, check_every_restart, ids, source, take
from tests.support.tasks.task_contexts import StoredOffsets
from tests.support.waiting import wait_until

PAGE = 2


class Repositories:
    """Repositories with issues, both in pages of two, and the issues from an id on."""

    def __init__(self, **issues: list[int] | None) -> None:
        """The ids of the issues of each repository; None: listed, but deleted."""
        self.issues = dict(issues)

    def __call__(self, request: Received) -> Answer:
        start = int(request.query.get("offset", "0"))
        if request.path == "/repos":
            rows: list[Any] = [
                {"name": name, "owner": {"login": "o/1"}, "issues": f"/repos/o%2F1/{name}/issues"}
                for name in self.issues
            ]
            return 200, {}, rows[start : start + PAGE]
        name = request.query.get("repo") or request.path.split("/")[-2]
        issues = self.issues.get(name)
        if issues is None:
            return 404, {}, "no such repository"
        rows = [{"id": n} for n in issues if n > int(request.query.get("since", "0"))]
        return 200, {}, rows[start : start + PAGE]


def parents(server: HttpTestServer) -> dict[str, str]:
    return {
        "http.pagination": "offset",
        "http.parent.url": f"{server.url}/repos",
        "http.parent.pagination": "offset",
    }


def url(server: HttpTestServer) -> str:
    return f"{server.url}/repos/${{parent.owner.login}}/${{parent.name}}/issues"


SINCE = {"http.cursor.pointer": "/id", "http.parameter.since": "${cursor}"}
API = {"a": [1, 2, 3], "b": [4], "c": [], "d": [5, 6], "e": [7, 8, 9]}
ALL = [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_the_records_of_all_parents_have_a_partition_for_each_parent() -> None:
    with http_server(Repositories(**API)) as server, source(url(server), **parents(server)) as task:
        records = take(task, len(ALL))
        assert ids(records) == ALL
        assert records[0].source_partition == {
            "url": url(server), "parent.name": "a", "parent.owner.login": "o/1"
        }  # fmt: skip
        assert [record.source_partition["parent.name"] for record in records if record.source_partition] == [
            *"aaa", "b", *"dd", *"eee"
        ]  # fmt: skip
        assert server.received[1].path == "/repos/o/1/a/issues"


@pytest.mark.parametrize("more", [{}, SINCE], ids=["all", "cursor"])
def test_a_restart_continues_exactly_where_it_was(more: Mapping[str, str]) -> None:
    with http_server(Repositories(**API)) as server:
        check_every_restart(url(server), ALL, **parents(server), **more)


def test_the_next_poll_reads_each_parent_from_its_cursor_before_offsets_are_committed() -> None:
    api = Repositories(**API)
    with http_server(api) as server, source(url(server), **parents(server), **SINCE) as task:
        take(task, len(ALL))
        api.issues |= {"a": [1, 2, 3, 10], "b": [4, 11], "f": [12]}
        assert sorted(ids(take(task, 3))) == [10, 11, 12]
        api.issues["c"] = [13]
        assert ids(take(task, 1)) == [13]


def test_a_parent_can_be_set_back() -> None:
    with http_server(Repositories(**API)) as server:
        config = {**parents(server), **SINCE}
        stored = StoredOffsets()
        with source(url(server), stored, **config) as task:
            stored.commit(take(task, len(ALL)))
        partition = {"url": url(server), "parent.name": "e", "parent.owner.login": "o/1"}
        top = {"url": f"{server.url}/repos", "level": "parent"}
        altered = [(partition, {"cursor": 8}), (top, {"page": 2})]
        assert HttpSourceConnector().alter_offsets({"http.url": url(server), **COMMON, **config}, altered)
        stored.stored += [(partition, {"cursor": 8})]
        with source(url(server), stored, **config) as task:
            assert ids(take(task, 1)) == [9]


def test_parents_that_vanish_are_skipped_and_continue_if_they_return() -> None:
    api = Repositories(a=[1], b=None, c=[2])
    with http_server(api) as server, source(url(server), **parents(server), **SINCE) as task:
        assert ids(take(task, 2)) == [1, 2]
        del api.issues["a"]
        api.issues["c"] = [2, 3]
        assert ids(take(task, 1)) == [3]
        api.issues |= {"a": [1, 4], "b": [5]}
        assert sorted(ids(take(task, 2))) == [4, 5]


@pytest.mark.parametrize(
    ("issues", "said"),
    [
        ({"a": None, "b": None}, "ERROR No records in this poll: the endpoint responded with 404 or 410 for all 2"),
        ({"a": None, "b": None, "c": [1]}, "WARNING 2 parents of "),
        ({"a": None, "c": [1]}, ""),
    ],
)  # fmt: skip
def test_missing_parents_are_counted_at_the_end_of_a_poll(
    issues: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "runtime.connectors.http.source.parents")

    def lines() -> list[str]:
        return [f"{record.levelname} {record.message}" for record in caplog.records]

    with http_server(Repositories(**issues)) as server, source(url(server), **parents(server)) as task:
        wait_until(lambda: (task.poll(), sum("returned status 404" in line for line in lines()))[1] >= 2, 10)
    second_poll = next(place for place, line in enumerate(lines()) if place and "returned status 404" in line)
    first, *others = lines()[:second_poll]
    assert first.startswith("WARNING ") and first.endswith("do not exist any more; continues with the next one")
    assert len(others) == bool(said) and all(line.startswith(said) and "${parent.name}" in line for line in others)


def test_a_parent_that_vanishes_between_two_pages_is_skipped() -> None:
    api = Repositories(a=[1, 2, 3], b=[4])

    def respond(request: Received) -> Answer:
        second_page = "/a/" in request.path and request.query["offset"] != "0"
        return (410, {}, "gone") if second_page else api(request)

    with http_server(respond) as server, source(url(server), **parents(server)) as task:
        assert ids(take(task, 3)) == [1, 2, 4]


def test_fields_of_the_parent_are_added_to_records_and_keys() -> None:
    config = {
        "http.parent.fields": "repository=name, owner.login", "http.key.pointer": "/repository,/id",
        "http.value.schema": "infer",
    }  # fmt: skip
    with http_server(Repositories(a=[1], b=[2])) as server, source(url(server), **parents(server), **config) as task:
        records = take(task, 2)
    assert [record.value for record in records] == [
        {"id": 1, "repository": "a", "login": "o/1"}, {"id": 2, "repository": "b", "login": "o/1"}
    ]  # fmt: skip
    assert records[1].key == {"repository": "b", "id": "2"}
    for schema, names in ((records[1].value_schema, ["id", "repository", "login"]),
                          (records[1].key_schema, ["repository", "id"])):  # fmt: skip
        assert schema is not None
        assert [field.name for field in schema.fields] == names


def test_a_field_of_the_parent_does_not_replace_one_of_the_record() -> None:
    with (
        http_server(Repositories(a=[1])) as server,
        source(url(server), **parents(server), **{"http.parent.fields": "id=name"}) as task,
        pytest.raises(ConnectError, match=r"have a field id of their own: .* such as parent_id=name"),
    ):
        take(task, 1)


def test_vanished_parents_may_fail_the_task() -> None:
    config = {"http.parent.missing": "fail"}
    with (
        http_server(Repositories(a=[1], b=None)) as server,
        source(url(server), **parents(server), **config) as task,
        pytest.raises(ConnectError, match="status 404: no such repository"),
    ):
        take(task, 2)


def test_secrets_in_the_urls_of_parents_do_not_appear_in_errors() -> None:
    with http_server(lambda request: (404, {}, f"no {request.query.get('token')}")) as server:
        config = {
            "http.parent.url": f"{server.url}/${{parent.id}}",
            "http.parent.parent.url": f"{server.url}/?token=s3",
        }
        with source(f"{server.url}/${{parent.id}}", **config) as task, pytest.raises(ConnectError) as error:
            take(task, 1)
    assert "no [hidden]" in str(error.value)


def test_parents_that_do_not_exist_fail_the_task() -> None:
    with (
        http_server(lambda request: (404, {}, "")) as server,
        source(url(server), **parents(server)) as task,
        pytest.raises(ConnectError, match=r"/repos returned status 404"),
    ):
        take(task, 1)


def test_a_parent_gives_the_url_of_its_children() -> None:
    """Relative to the URL of the parents, as in HAL and JSON:API. Credentials go to the host of the parents only."""
    with http_server(lambda request: (200, {}, [{"id": 9}])) as other:

        def respond(request: Received) -> Answer:
            assert request.headers["authorization"] == "Bearer t0ken"
            if request.path == "/repos":
                return 200, {}, [{"issues": "/a?x=1"}, {"issues": f"{other.url}/b"}, {"issues": None}]
            return 200, {}, [{"id": 1}] if request.query["x"] == "1" else []

        with http_server(respond) as server:
            config = {
                "http.parent.url": f"{server.url}/repos", "http.auth.type": "bearer", "http.auth.token": "t0ken"
            }  # fmt: skip
            with source("${parent.issues}", **config) as task:
                records = take(task, 2)
    assert ids(records) == [1, 9]
    assert records[0].source_partition == {"url": "${parent.issues}", "parent.issues": "/a?x=1"}
    assert "authorization" not in other.received[0].headers


def test_parents_of_parents() -> None:
    def respond(request: Received) -> Answer:
        if request.path == "/orgs":
            return 200, {}, [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}]
        if request.path.startswith("/orgs/"):
            org = int(request.path.split("/")[2])
            return 200, {}, [{"id": org * 10 + n} for n in (1, 2)]
        path = request.path.removeprefix("/members/").replace("/", "-")
        return 200, {}, [{"id": f"{path}-{n}"} for n in (1, 2)]

    with http_server(respond) as server:
        at = f"{server.url}/members/${{parent.parent.name}}/${{parent.id}}"
        config = {
            "http.parent.url": f"{server.url}/orgs/${{parent.id}}/teams",
            "http.parent.parent.url": f"{server.url}/orgs",
        }
        expected = [f"{org}-{team}-{n}" for org, team in (("x", 11), ("x", 12), ("y", 21), ("y", 22)) for n in (1, 2)]
        check_every_restart(at, expected, **config)


def test_only_parents_behind_their_cursor_are_visited() -> None:
    changed = {"a": 1, "b": 2, "c": 3}
    visited: list[str] = []

    def respond(request: Received) -> Answer:
        if request.path == "/repos":
            since = int(request.query.get("since", "0"))
            found = sorted((at, name) for name, at in changed.items() if at > since)
            return 200, {}, [{"name": name, "at": at} for at, name in found]
        visited.append(request.path[1:])
        return 200, {}, [{"id": f"{request.path[1:]}{changed[request.path[1:]]}"}]

    with http_server(respond) as server:
        config = {
            "http.parent.url": f"{server.url}/repos", "http.parent.cursor.pointer": "/at",
            "http.parent.parameter.since": "${cursor}",
        }  # fmt: skip
        at = f"{server.url}/${{parent.name}}"
        check_every_restart(at, ["a1", "b2", "c3"], **config)
        stored = StoredOffsets()
        with source(at, stored, **config) as task:
            stored.commit(take(task, 3))
            visited.clear()
            changed["a"] = 4
            assert ids(take(task, 1)) == ["a4"]
        assert visited == ["a"]
        assert stored.offset({"url": f"{server.url}/repos", "level": "parent"}) == {"cursor": 4}


def test_children_of_graphql_use_fields_of_the_parent_in_the_body() -> None:
    api = Repositories(**API)

    def respond(request: Received) -> Answer:
        if request.path == "/repos":
            return api(request)
        return 200, {}, {"data": [{"id": n} for n in api.issues[request.json["variables"]["repo"]] or ()]}

    with http_server(respond) as server:
        config = {
            "http.body": '{"query": "query($repo: String) { issues }", "variables": {"repo": "${parent.name}"}}',
            "http.records.pointer": "/data",
            "http.parent.url": f"{server.url}/repos",
            "http.parent.pagination": "offset",
        }
        check_every_restart(f"{server.url}/graphql", ALL, **config)


def test_unchanged_records_of_a_parent_are_not_read_again() -> None:
    tags: list[str] = []

    def respond(request: Received) -> Answer:
        if request.path == "/repos":
            return 200, {"ETag": '"all"'}, [{"name": "a"}, {"name": "b"}]
        tags.append(request.headers.get("if-none-match", ""))
        tag = f'"{request.path}"'
        return (304, {}, "") if tags[-1] == tag else (200, {"ETag": tag}, [{"id": request.path}])

    with http_server(respond) as server:
        config = {"http.parent.url": f"{server.url}/repos"}
        with source(f"{server.url}/${{parent.name}}", **config) as task:
            assert ids(take(task, 2)) == ["/a", "/b"]
            wait_until(lambda: not task.poll() and tags[-2:] == ['"/a"', '"/b"'], 10, "requests with the ETags")


def test_errors_name_the_keys_of_the_parents() -> None:
    config = {"http.parent.records.pointer": "/rows"}
    with (
        http_server(lambda request: (200, {}, {"items": []})) as server,
        source(url(server), **parents(server), **config) as task,
        pytest.raises(ConnectError, match=r"no value at /rows \(http\.parent\.records\.pointer\)"),
    ):
        take(task, 1)


def test_a_field_that_the_parents_do_not_have_fails_the_task() -> None:
    with (
        http_server(Repositories(**API)) as server,
        source(f"{server.url}/${{parent.nmae}}", **parents(server)) as task,
        pytest.raises(ConnectError, match=r"no field nmae, which \$\{parent.nmae\} needs"),
    ):
        take(task, 1)


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({"http.parent.url": "https://x/p"}, "http.url", "Use ${parent.<field>} in http.url, http.body"),
        ({"http.url": "https://x/${parent.id}"}, "http.url", "${parent.id} needs http.parent.url"),
        ({"http.parent.pagination": "page"}, "http.parent.url", "required with http.parent.pagination"),
        ({"http.parent.url": "x"}, "http.parent.url", "must be a URL"),
        ({"http.parent.url": "https://x", "http.parent.parameter.a": "${cursor}"}, "http.parent.cursor.pointer",
         "required"),
        ({"http.parent.url": "https://x", "http.parent.pagination": "token"}, "http.parent.pagination.next.pointer",
         "required"),
        ({"http.parent.url": "https://x/${parent.a}", "http.parent.parent.url": "y"}, "http.parent.url",
         "configuration http.parent.parent.url"),
        ({"http.parent.url": "https://x/${parent.a}", "http.parent.parent.records.pointer": "/a"}, "http.parent.url",
         "http.parent.parent.url is required with http.parent.parent.records.pointer"),
    ],
)  # fmt: skip
def test_invalid_configurations(config: Mapping[str, str], key: str, message: str) -> None:
    values = HttpSourceConnector().validate({"http.url": "https://x", "topic": "t", **config})
    (errors,) = (value.errors for value in values if value.name == key)
    assert message in " ".join(errors)


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"url": "https://x/${parent.id}"}, {"records": 1}),
        ({"url": "https://x/${parent.id}", "parent.id": None}, {"records": 1}),
        ({"url": "https://x/p"}, {"page": 2}),
        ({"url": "https://x/p", "level": "parent"}, {"page": "b"}),
    ],
)
def test_altered_offsets_are_checked(partition: Mapping[str, Any], offset: Mapping[str, Any]) -> None:
    config = {
        "http.url": "https://x/${parent.id}", "topic": "t", "http.parent.url": "https://x/p",
        "http.parent.pagination": "page",
    }  # fmt: skip
    connector = HttpSourceConnector()
    assert connector.alter_offsets(config, [({"url": "https://x/p", "level": "parent"}, {"page": 2, "records": 1})])
    assert connector.alter_offsets(config, [({"url": "https://x/${parent.id}", "parent.id": 7}, {"records": 1})])
    with pytest.raises(ConnectError):
        connector.alter_offsets(config, [(partition, offset)])
