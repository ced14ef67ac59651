"""Pages of a JSON API: the requests for them, and the records in them."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from runtime.api.errors import ConnectError
from runtime.connectors.http.endpoint import HttpReply, named_url, with_parameters
from runtime.connectors.http.failures import TemporaryError, wait_of
from runtime.connectors.http.json_values import JsonPointer, NoValueError
from runtime.connectors.http.source.json_body import JsonBody, is_rate_limit
from runtime.connectors.http.templates import TextTemplate, as_text
from runtime.kafka.formats import compact

PageToken = str | int | None
"""Which page: a number, an offset, a URL or a token of the API; None for the first page."""

Cursor = str | int | float | bool | None


CURSOR_NAME, PAGE_NAME, PARENT_NAME = "cursor", "page", "parent."
"""The placeholders; PARENT_NAME is the beginning of those for fields of the parent."""

Values = Mapping[str, Any]
"""The values of placeholders by name; None or missing: no value."""

_SNIPPET = 300  # characters of a response in a message


class PaginationKind(StrEnum):
    """How further pages are requested."""

    NONE = "none"
    LINK = "link"
    NEXT_URL = "next-url"
    TOKEN = "token"
    PAGE = "page"
    OFFSET = "offset"


_FALSE = ("", "false", "no", "0")  # texts


def parsed_json(content: bytes) -> Any:
    """The value in a response. Whole numbers are exact, whatever their size, and texts may have unpaired surrogates, as
    of an emoji that the API has cut; orjson has neither. TemporaryError if it is not JSON."""
    try:
        return json.loads(content.removeprefix(codecs.BOM_UTF8), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise TemporaryError(f"The response is not valid JSON: {error}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _is_true(value: Any) -> bool:
    return value.strip().lower() not in _FALSE if isinstance(value, str) else bool(value)


COUNTED = (PaginationKind.PAGE, PaginationKind.OFFSET)


class PageRequest(NamedTuple):
    """The request for a page."""

    method: str
    url: str
    body: bytes | None


class JsonPage(NamedTuple):
    """The records of a page, and the token of the next one; None after the last page. `last`: `next` is the page at
    which the next poll begins."""

    records: list[Any]
    next: PageToken
    last: bool = False


class PagePointers(NamedTuple):
    """Where responses say how it goes on: the next page, whether there is one, whether there is none, and the page at
    which the next poll begins."""

    next: JsonPointer | None = None
    more: JsonPointer | None = None
    end: JsonPointer | None = None
    resume: JsonPointer | None = None


class Pagination:
    """The requests for the pages of an API."""

    def __init__(
        self,
        url: str,
        parameters: Mapping[str, str],
        kind: PaginationKind,
        records: JsonPointer,
        pointers: PagePointers,
        parameter: str | None,
        first: int,
        size: int,
        size_parameter: str | None,
        body: JsonBody | None = None,
        base: str | None = None,
        prefix: str = "http.",
    ) -> None:
        """`url` and `parameters` may contain placeholders; the other arguments are the configuration keys. A `url` that
        begins with a field of the parent may be relative to `base`, the URL of the parents. `prefix`: of the keys, for
        errors."""
        self._prefix = prefix
        self._base = base if url.startswith(f"${{{PARENT_NAME}") else None
        self._url = TextTemplate(url, whole=self._base is not None)
        self._parameters = {name: TextTemplate(text, encoded=False) for name, text in parameters.items()}
        self.kind = kind
        self._records, self._pointers = records, pointers
        self._parameter = parameter or str(kind)
        self._first = first if kind is PaginationKind.PAGE else 0
        self._size, self._size_parameter = size, size_parameter
        self._body = body

    @property
    def names(self) -> frozenset[str]:
        """The placeholders in URL, parameters and body."""
        templates = (self._url, *self._parameters.values())
        return frozenset(name for template in templates for name in template.names) | (
            self._body.names if self._body else frozenset()
        )

    def request(self, values: Values, page: PageToken) -> PageRequest:
        """The request for a page: POST with a body, GET without. Parameters with a placeholder that has no value are
        omitted."""
        url = self._request_url(values, page)
        if self._body is None:
            return PageRequest("GET", url, None)
        return PageRequest("POST", url, self._body.fill({**values, PAGE_NAME: self._token(page)}))

    def _request_url(self, values: Values, page: PageToken) -> str:
        if self.kind in (PaginationKind.LINK, PaginationKind.NEXT_URL) and page is not None:
            return str(page)
        parameters = {
            name: template.fill(values.__getitem__)
            for name, template in self._parameters.items()
            if all(values.get(placeholder) is not None for placeholder in template.names)
        }
        if self._size_parameter:
            parameters[self._size_parameter] = str(self._size)
        token = self._token(page)
        if token is not None and not (self._body and PAGE_NAME in self._body.names):
            parameters[self._parameter] = as_text(token)
        return with_parameters(self._absolute(self._url.fill(values.__getitem__)), parameters)

    def _absolute(self, url: str) -> str:
        return url if self._base is None else named_url(self._base, url, f"The URL in {self._prefix}url")

    def _token(self, page: PageToken) -> PageToken:
        return self._first if page is None and self.kind in COUNTED else page

    def page_of(self, reply: HttpReply, url: str, page: PageToken, clean: Callable[[str], str]) -> JsonPage:
        """The page in a response. `clean` removes credentials from the URL of the next one. ConnectError if it does not
        have the configured form, TemporaryError for a rate limit of GraphQL, and for a response that is not JSON, as
        of a proxy or cut off."""
        if not reply.content.strip():
            return self._last_page([], None, page)
        document = parsed_json(reply.content)
        if self._body and self._body.is_graphql and isinstance(document, dict) and (errors := document.get("errors")):
            message = f"The response has errors: {compact(errors).decode()[:_SNIPPET]}"
            if is_rate_limit(errors):
                raise TemporaryError(message, wait_of(reply.headers, limited=True))
            raise ConnectError(message)
        records = self._records_of(document)
        following = self._following(reply, document, url, page, len(records))
        if following is not None and not self._is_last(document):
            return JsonPage(records, self._cleaned(following, clean))
        return self._last_page(
            records, self._cleaned(self._token_at(self._pointers.resume, document, url), clean), page
        )

    def _last_page(self, records: list[Any], resumed: PageToken, page: PageToken) -> JsonPage:
        """The next poll begins at the page that the response names; without a name, and without records, at the same
        page again."""
        if self._pointers.resume is not None and resumed is None and not records:
            resumed = page
        return JsonPage(records, resumed, resumed is not None)

    def _cleaned(self, token: PageToken, clean: Callable[[str], str]) -> PageToken:
        is_url = self.kind in (PaginationKind.LINK, PaginationKind.NEXT_URL) and token is not None
        return clean(str(token)) if is_url else token

    def _is_last(self, document: Any) -> bool:
        more, end = self._pointers.more, self._pointers.end
        return (more is not None and not _is_true(more.get(document))) or (
            end is not None and _is_true(end.get(document))
        )

    def is_token(self, value: object) -> bool:
        """Whether a value is a possible token of a page."""
        if self.kind in COUNTED:
            return isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return self.kind is not PaginationKind.NONE and isinstance(value, str) and value != ""

    def _records_of(self, document: Any) -> list[Any]:
        try:
            records = self._records.find(document)
        except NoValueError as error:
            raise ConnectError(f"{error} ({self._prefix}records.pointer)") from None
        if records is None:
            return []
        return records if isinstance(records, list) else [records]

    def _following(self, reply: HttpReply, document: Any, url: str, page: PageToken, count: int) -> PageToken:
        if self.kind is PaginationKind.LINK:
            link = reply.links.get("next")
            return None if link is None else named_url(url, link, "The next page in the Link header")
        if self.kind in COUNTED:
            if count == 0 or count < self._size:
                return None
            current = self._first if page is None else int(page)
            return current + (1 if self.kind is PaginationKind.PAGE else count)
        return self._token_at(self._pointers.next, document, url)

    def _token_at(self, pointer: JsonPointer | None, document: Any, url: str) -> PageToken:
        token = None if pointer is None else pointer.get(document)
        if token in (None, "", False):
            return None
        if not isinstance(token, str | int):
            raise ConnectError(f"The value at {pointer}, the next page, is not a text or number")
        if self.kind is PaginationKind.NEXT_URL:
            return named_url(url, str(token), f"The next page at {pointer}")
        return str(token)
