"""HttpSource with the pagination of ten public APIs: stubs with their forms of requests, responses and rate limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.support.servers.http_endpoint import Answer, HttpTestServer, Received, http_server
from tests.support.tasks.http_source import check_every_restart, ids, source, take

COUNT, SIZE = 7, 3


class Stub:
    """An API with seven records in pages of three; the second request is refused by its rate limit."""

    def __init__(self, api: Api) -> None:
        self.api, self.count = api, COUNT
        self.server: HttpTestServer | None = None
        self.refused = 0

    def __call__(self, request: Received) -> Answer:
        assert self.server is not None
        if len(self.server.received) == 2:
            self.refused += 1
            return self.api.limit()
        start = self.api.start(request)
        rows = [{"id": self.api.ident(n)} for n in range(start + 1, min(start + SIZE, self.count) + 1)]
        after = start + len(rows)
        return self.api.page(rows, after, after < self.count, f"{self.server.url}{request.path}")


class Api(NamedTuple):
    """What is special about an API. `start`: the number of records before the requested page; `page`: a response from
    its records, the number of records up to its end, whether there are more, and the URL."""

    path: str
    config: dict[str, str]
    start: Callable[[Received], int]
    page: Callable[[list[Any], int, bool, str], Answer]
    limit: Callable[[], Answer]
    ident: Callable[[int], Any] = lambda n: n


def number(text: str | None, prefix: str = "") -> int:
    return int(text.removeprefix(prefix)) if text else 0


def too_many(**headers: str) -> Callable[[], Answer]:
    return lambda: (429, {name.replace("_", "-"): value for name, value in headers.items()}, "too many requests")


def linked(url: str, more: bool) -> dict[str, str]:
    return {"Link": f'<{url}>; rel="next", <{url}>; rel="last"'} if more else {}


def _github_limit() -> Answer:
    return 403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()))}, "rate limit exceeded"


def _relay_limit() -> Answer:
    return 200, {"Retry-After": "0"}, {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}


def _relay_page(rows: list[Any], after: int, more: bool, url: str) -> Answer:
    info = {"hasNextPage": more, "endCursor": f"Y3Vyc29y{after}=="}
    return 200, {}, {"data": {"repository": {"issues": {"nodes": rows, "pageInfo": info}}}}


QUERY = (
    "query($after: String) { repository { issues(first: 3, after: $after) { nodes { id } pageInfo { endCursor } } } }"
)
APIS = {
    "github": Api(
        "/repositories/1/issues?per_page=3",
        {"http.pagination": "link"},
        lambda request: SIZE * (int(request.query.get("page", "1")) - 1),
        lambda rows, after, more, url: (200, linked(f"{url}?per_page=3&page={after // SIZE + 1}", more), rows),
        _github_limit,
    ),
    "gitlab": Api(
        "/api/v4/projects?pagination=keyset&order_by=id&sort=asc&per_page=3",
        {"http.pagination": "link"},
        lambda request: number(request.query.get("id_after")),
        lambda rows, after, more, url: (200, linked(f"{url}?pagination=keyset&id_after={after}", more), rows),
        too_many(RateLimit_Reset="1600000000", Retry_After="0"),
    ),
    "stripe": Api(
        "/v1/charges?limit=3",
        {
            "http.records.pointer": "/data",
            "http.pagination": "token",
            "http.pagination.parameter": "starting_after",
            "http.pagination.next.pointer": "/data/-1/id",
            "http.pagination.more.pointer": "/has_more",
        },
        lambda request: number(request.query.get("starting_after"), "ch_"),
        lambda rows, after, more, url: (200, {}, {"object": "list", "data": rows, "has_more": more}),
        too_many(Stripe_Rate_Limited_Reason="global-rate"),
        lambda n: f"ch_{n}",
    ),
    "shopify": Api(
        "/admin/api/2026-01/products.json?limit=3",
        {"http.records.pointer": "/products", "http.pagination": "link"},
        lambda request: number(request.query.get("page_info"), "eyJsYXN0X2lkIjo"),
        lambda rows, after, more, url: (
            200,
            linked(f"{url}?limit=3&page_info=eyJsYXN0X2lkIjo{after}", more),
            {"products": rows},
        ),
        too_many(Retry_After="0.0"),
    ),
    "slack": Api(
        "/api/users.list?limit=3",
        {
            "http.records.pointer": "/members",
            "http.pagination": "token",
            "http.pagination.parameter": "cursor",
            "http.pagination.next.pointer": "/response_metadata/next_cursor",
        },
        lambda request: number(request.query.get("cursor", "").removesuffix("+/="), "dXNlcjpV"),
        lambda rows, after, more, url: (
            200,
            {},
            {"ok": True, "members": rows, "response_metadata": {"next_cursor": f"dXNlcjpV{after}+/=" if more else ""}},
        ),
        too_many(Retry_After="0"),
        lambda n: f"U{n}",
    ),
    "jira": Api(
        "/rest/api/2/search?maxResults=3",
        {
            "http.records.pointer": "/issues",
            "http.pagination": "offset",
            "http.pagination.parameter": "startAt",
        },
        lambda request: number(request.query.get("startAt")),
        lambda rows, after, more, url: (
            200,
            {},
            {"startAt": after - len(rows), "maxResults": SIZE, "total": COUNT, "issues": rows},
        ),
        too_many(Retry_After="0", X_RateLimit_Limit="100"),
        lambda n: f"PRJ-{n}",
    ),
    "hubspot": Api(
        "/crm/v3/objects/contacts?limit=3",
        {
            "http.records.pointer": "/results",
            "http.pagination": "token",
            "http.pagination.parameter": "after",
            "http.pagination.next.pointer": "/paging/next/after",
        },
        lambda request: number(request.query.get("after")),
        lambda rows, after, more, url: (
            200,
            {},
            {"results": rows}
            | ({"paging": {"next": {"after": str(after), "link": f"{url}?after={after}"}}} if more else {}),
        ),
        too_many(X_HubSpot_RateLimit_Secondly_Remaining="0"),
        str,
    ),
    "salesforce": Api(
        "/services/data/v60.0/query?q=SELECT+Id+FROM+Account",
        {
            "http.records.pointer": "/records",
            "http.pagination": "next-url",
            "http.pagination.next.pointer": "/nextRecordsUrl",
        },
        lambda request: number(request.path.rpartition("-")[2] if "-" in request.path else None),
        lambda rows, after, more, url: (
            200,
            {},
            {"totalSize": COUNT, "done": not more, "records": rows}
            | ({"nextRecordsUrl": f"/services/data/v60.0/query/01g5e0-{after}"} if more else {}),
        ),
        lambda: (503, {"Retry-After": "0"}, [{"errorCode": "SERVER_UNAVAILABLE"}]),
        lambda n: f"0015e{n}",
    ),
    "zendesk": Api(
        "/api/v2/incremental/tickets/cursor.json?start_time=1700000000",
        {
            "http.records.pointer": "/tickets",
            "http.pagination": "next-url",
            "http.pagination.next.pointer": "/after_url",
            "http.pagination.end.pointer": "/end_of_stream",
            "http.pagination.resume.pointer": "/after_url",
        },
        lambda request: number(request.query.get("cursor"), "MTU3NjYx"),
        lambda rows, after, more, url: (
            200,
            {},
            {"tickets": rows, "after_url": f"{url}?cursor=MTU3NjYx{after}", "end_of_stream": not more},
        ),
        too_many(Retry_After="0"),
    ),
    "relay": Api(
        "/graphql",
        {
            "http.body": f'{{"query": "{QUERY}", "variables": {{"after": "${{page}}"}}}}',
            "http.records.pointer": "/data/repository/issues/nodes",
            "http.pagination": "token",
            "http.pagination.next.pointer": "/data/repository/issues/pageInfo/endCursor",
            "http.pagination.more.pointer": "/data/repository/issues/pageInfo/hasNextPage",
        },
        lambda request: number((request.json["variables"]["after"] or "").removesuffix("=="), "Y3Vyc29y"),
        _relay_page,
        _relay_limit,
        lambda n: f"I_{n}",
    ),
}


@pytest.mark.parametrize("name", APIS)
def test_all_records_are_read_once_through_restarts_and_a_rate_limit(name: str) -> None:
    api = APIS[name]
    stub = Stub(api)
    with http_server(stub) as server:
        stub.server = server
        expected = [api.ident(n) for n in range(1, COUNT + 1)]
        check_every_restart(f"{server.url}{api.path}", expected, **api.config)
    assert stub.refused == 1


def test_the_next_poll_begins_where_the_last_response_says() -> None:
    api = APIS["zendesk"]
    stub = Stub(api)
    with http_server(stub) as server:
        stub.server = server
        with source(f"{server.url}{api.path}", **api.config) as task:
            assert ids(take(task, COUNT)) == [1, 2, 3, 4, 5, 6, 7]
            stub.count = 8
            assert ids(take(task, 1)) == [8]
            stub.count = 12
            assert ids(take(task, 4)) == [9, 10, 11, 12]
