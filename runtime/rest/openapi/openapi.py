"""GET /openapi.json: builds the OpenAPI document of the paths that this worker serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime import CONNECT_VERSION, __version__
from runtime.rest.http.responses import JSON, json_response
from runtime.rest.openapi.json_schema import Schema, ref
from runtime.rest.openapi.operations import OPERATIONS, ApiOperation
from runtime.rest.openapi.schemas import SCHEMAS
from runtime.rest.resource import Handler, Resource

PATH = "/openapi.json"

_ROUTER = {
    405: "The path does not support this method.",
    406: "`Accept` names no media type that this path can produce.",
    408: "The body did not arrive within a minute.",
    413: "The body is larger than 2 MB, or 32 MB for offsets and previews, or too large for a record of its topic.",
    415: "The body is not `application/json`.",
}
_ERRORS = {
    400: "The request is invalid; the message names the error and its position.",
    401: "Missing or wrong credentials, if the worker requires authentication.",
    403: "The user lacks the required role, or the worker's configuration disables this request.",
    404: "The connector, task or other resource does not exist.",
    409: "The request conflicts with the current state; a retry may succeed.",
    500: "The worker is unhealthy, or an unexpected error occurred.",
    503: "The worker is starting, or Kafka does not respond.",
}
_EVERYWHERE = (401, 403, 500)
_DESCRIPTION = (
    "The REST API of Apache Kafka Connect with Headrace's additions. HEAD is supported wherever GET is, and OPTIONS "
    "lists the methods of a path. Every answer has an `X-Request-ID`, which is also in the worker's audit log."
)


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """The OpenAPI document of the routes of one listener."""

    routes: Sequence[Route]

    def build(self) -> dict[str, Any]:
        """The document as a JSON object."""
        served = dict(served_methods(self.routes))
        paths: dict[str, Any] = {}
        for operation in OPERATIONS:
            if operation.method in served.get(operation.path, ()):
                described = paths.setdefault(operation.path, {})
                described[operation.method.lower()] = _operation(operation)
        return {
            "openapi": "3.1.0",
            "info": {
                "title": f"Headrace, a worker for Kafka Connect {CONNECT_VERSION}",
                "version": __version__,
                "description": _DESCRIPTION,
            },
            "security": [{}, {"basic": []}],
            "paths": paths,
            "components": {
                "schemas": SCHEMAS,
                "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
                "headers": {"RequestId": {"schema": {"type": "string"}, "required": True}},
            },
        }


def served_methods(routes: Sequence[Route]) -> Iterator[tuple[str, frozenset[str]]]:
    """Path and methods of each route, without HEAD and OPTIONS."""
    for route in routes:
        resource = route.endpoint
        assert isinstance(resource, Resource)
        yield route.path, resource.methods


def openapi_route(routes: Sequence[Route]) -> Route:
    """The route of the document, which describes these routes and itself."""
    cached: list[dict[str, Any]] = []

    async def document(_: Request) -> Response:
        if not cached:
            cached.append(OpenApiDocument([*routes, route]).build())
        return json_response(cached[0])

    handler: Handler = document
    route = Route(PATH, Resource(get=handler))
    return route


def _operation(o: ApiOperation) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": o.id, "summary": o.summary}
    parameters = [_path_parameter(name) for name in o.path_parameters]
    parameters += [_parameter(name, "query", schema) for name, schema in o.query.items()]
    parameters += [_parameter(name, "header", schema) for name, schema in o.headers.items()]
    if parameters:
        operation["parameters"] = parameters
    if o.body:
        content = {JSON: {"schema": ref(o.body)}}
        operation["requestBody"] = {"required": o.body_required, "content": content}
    operation["responses"] = {str(status): response for status, response in sorted(_responses(o))}
    return operation


def _responses(o: ApiOperation) -> Iterator[tuple[int, dict[str, Any]]]:
    headers = {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}}
    for status, schema in o.responses.items():
        response: dict[str, Any] = {"description": "Success.", "headers": headers}
        if schema:
            response["content"] = {media: {"schema": ref(schema)} for media in o.produces}
        if o.links and status == 201:
            response["links"] = _links(o.links)
        yield status, response
    unreadable = (400,) if o.path_parameters else ()  # a path with invalid escapes, or with control characters
    for status in {*o.errors, *_EVERYWHERE, *unreadable} - set(o.responses):
        content = {JSON: {"schema": ref("Error")}}
        yield status, {"description": _ERRORS[status], "headers": headers, "content": content}
    for status, description in _ROUTER.items():
        yield status, {"description": description, "headers": headers}  # these come without a media type


def _links(targets: Mapping[str, str]) -> dict[str, Any]:
    return {
        target: {"operationId": target, "parameters": {"name": expression}} for target, expression in targets.items()
    }


def _path_parameter(name: str) -> dict[str, Any]:
    schema: Schema = {"type": "integer", "minimum": 0} if name == "task" else {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _parameter(name: str, where: str, schema: Schema) -> dict[str, Any]:
    return {"name": name, "in": where, "required": False, "schema": schema}
