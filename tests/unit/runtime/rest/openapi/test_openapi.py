"""/openapi.json describes every path that is served, and no others."""

from __future__ import annotations

from runtime.rest.admin import admin_routes
from runtime.rest.openapi.openapi import OpenApiDocument, openapi_route, served_methods
from runtime.rest.openapi.schemas import SCHEMAS
from runtime.rest.routes import routes
from tests.support.never_called import NEVER_CALLED


def test_every_route_is_described_and_every_description_is_served() -> None:
    served = [*routes(NEVER_CALLED), *admin_routes(NEVER_CALLED)]
    served.append(openapi_route(served))
    paths = OpenApiDocument(served).build()["paths"]
    described = {path: {method.upper() for method in methods} for path, methods in paths.items()}
    assert described == {path: set(methods) for path, methods in served_methods(served)}


def test_a_listener_without_admin_does_not_describe_it() -> None:
    paths = OpenApiDocument(routes(NEVER_CALLED)).build()["paths"]
    assert paths
    assert not [path for path in paths if path.startswith("/admin")]


def test_every_reference_has_its_schema_and_every_link_its_operation() -> None:
    document = OpenApiDocument([*routes(NEVER_CALLED), *admin_routes(NEVER_CALLED)]).build()
    ids = {o["operationId"] for methods in document["paths"].values() for o in methods.values()}
    assert _references(document) <= SCHEMAS.keys() | {"RequestId"}
    links = [
        r.get("links", {}) for m in document["paths"].values() for o in m.values() for r in o["responses"].values()
    ]
    assert {name for link in links for name in link} <= ids
    assert any(links)


def _references(node: object) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"].rpartition("/")[2]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(_references, node.values()))
    return set().union(*map(_references, node)) if isinstance(node, list) else set()
