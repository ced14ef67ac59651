"""Checks of the keys of a stream against each other, and of the placeholders in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runtime.api.config.definition import ConfigValue
from runtime.config.properties import with_prefix
from runtime.connectors.http.source.pages import COUNTED, CURSOR_NAME, PAGE_NAME, PARENT_NAME, PaginationKind
from runtime.connectors.http.source.slices import SLICE_NAMES
from runtime.connectors.http.source.stream_config import (
    BODY,
    CURSOR,
    CURSOR_INITIAL,
    NEXT,
    PAGINATION,
    PARAMETERS,
    PARENT,
    RESUME,
    SIZE,
    SIZE_PARAMETER,
    SLICE_FORMAT,
    SLICE_START,
    SLICE_STEP,
    STREAM,
    URL,
    has_parent,
    parents_of,
    slice_keys,
    slices_of,
    stream_keys,
)
from runtime.connectors.http.templates import TextTemplate


def add_stream_conflicts(by_name: Mapping[str, ConfigValue], config: Mapping[str, str], prefix: str) -> None:
    """Adds the errors of keys that depend on each other, and those of the parents."""
    kind = by_name[prefix + PAGINATION].value
    following, size = by_name[prefix + NEXT], by_name[prefix + SIZE]
    if kind in (PaginationKind.NEXT_URL, PaginationKind.TOKEN) and not following.value and not following.errors:
        following.errors.append(f"{following.name} is required with {prefix}{PAGINATION}={kind}")
    if by_name[prefix + SIZE_PARAMETER].value and not size.value and not size.errors:
        size.errors.append(f"{size.name} is required with {prefix}{SIZE_PARAMETER}")
    resume = by_name[prefix + RESUME]
    if resume.value and kind not in (PaginationKind.NEXT_URL, PaginationKind.TOKEN):
        resume.errors.append(f"{resume.name} needs {prefix}{PAGINATION}=next-url or token")
    if resume.value and (other := next((n for n in (CURSOR, SLICE_START) if by_name[prefix + n].value), None)):
        resume.errors.append(f"Set either {resume.name} or {prefix}{other}")
    _check_slices(by_name, prefix)
    _Placeholders(by_name, config, prefix).check()
    _check_parents(by_name, config, prefix)


def _check_slices(by_name: Mapping[str, ConfigValue], prefix: str) -> None:
    values = [by_name[key.name] for key in slice_keys(prefix)]
    slices = None
    if not any(value.errors for value in values):
        slices = slices_of({value.name.removeprefix(prefix): value.value for value in values})
    step, cursor = by_name[prefix + SLICE_STEP], by_name[prefix + CURSOR]
    if slices is not None and slices.step % slices.format.unit:
        step.errors.append(f"{step.name} must be a multiple of what {prefix}{SLICE_FORMAT} can express")
    if slices is not None and cursor.value:
        cursor.errors.append(f"Set either {cursor.name} or {prefix}{SLICE_START}")


def _check_parents(by_name: Mapping[str, ConfigValue], config: Mapping[str, str], prefix: str) -> None:
    parents = parents_of(prefix)
    keys = sorted(name for name in config if name.startswith(parents))
    url = by_name[PARENT + URL]
    if keys and not has_parent(config, prefix):
        url.errors.append(f"{parents}{URL} is required with {keys[0]}")
    elif keys and prefix == STREAM:
        add_stream_conflicts(by_name, config, parents)
    elif keys:  # parents of parents: their keys are not part of the connector's definition
        values = stream_keys(parents).validate(config)
        add_stream_conflicts({**by_name, **{value.name: value for value in values}}, config, parents)
        url.errors += [error for value in values for error in value.errors]


class _Placeholders:
    """Checks the placeholders in the URL, the parameters and the body of a stream."""

    def __init__(self, by_name: Mapping[str, ConfigValue], config: Mapping[str, str], prefix: str) -> None:
        self._by_name, self._prefix = by_name, prefix
        self._has_parent = has_parent(config, prefix)
        self._sliced = by_name[prefix + SLICE_START].value is not None
        self._parameters = with_prefix(config, prefix + PARAMETERS)
        self._url, self._body = self._names(URL), self._names(BODY)
        self._used = {*self._url, *self._body}
        for text in self._parameters.values():
            self._used.update(TextTemplate(text).names)

    def check(self) -> None:
        """Adds the errors."""
        self._check_known(self._prefix + URL, URL, self._url, ())
        self._check_known(self._prefix + BODY, BODY, self._body, (PAGE_NAME,))
        for name, text in self._parameters.items():
            self._check_known(f"{self._prefix}{PARAMETERS}{name}", URL, TextTemplate(text).names, ())
        if PAGE_NAME in self._body and self._value(PAGINATION).value not in (kinds := (PaginationKind.TOKEN, *COUNTED)):
            self._add(
                BODY, f"${{{PAGE_NAME}}} in {self._prefix}{BODY} needs {self._prefix}{PAGINATION}={', '.join(kinds)}"
            )
        if self._has_parent and not any(name.startswith(PARENT_NAME) for name in self._used):
            self._add(
                URL, f"Use ${{{PARENT_NAME}<field>}} in {self._places()}: otherwise all parents have the same records"
            )
        if self._sliced and not self._used & {*SLICE_NAMES}:
            self._add(SLICE_START, f"Use ${{{SLICE_NAMES[0]}}} and ${{{SLICE_NAMES[1]}}} in {self._places()}")
        self._check_cursor()

    def _check_cursor(self) -> None:
        uses, cursor = CURSOR_NAME in self._used, self._value(CURSOR)
        if uses and not cursor.value and not cursor.errors:
            cursor.errors.append(f"{cursor.name} is required by ${{{CURSOR_NAME}}}")
        if cursor.value and not uses:
            cursor.errors.append(f"Use ${{{CURSOR_NAME}}} in {self._places()}")
        initial = self._value(CURSOR_INITIAL)
        if CURSOR_NAME in self._url and initial.value is None:
            initial.errors.append(f"{initial.name} is required by ${{{CURSOR_NAME}}} in {self._prefix}{URL}")

    def _check_known(self, key: str, at: str, names: Iterable[str], more: tuple[str, ...]) -> None:
        known = (CURSOR_NAME, *more, *(SLICE_NAMES if self._sliced else ()))
        for name in names:
            if name in known or (self._has_parent and name.startswith(PARENT_NAME) and name != PARENT_NAME):
                continue
            choices = [*known, PARENT_NAME + "<field>"] if self._has_parent else known
            reason = f"${{{name}}} is unknown; use " + ", ".join(f"${{{choice}}}" for choice in choices)
            if name.startswith(PARENT_NAME) and not self._has_parent:
                reason = f"${{{name}}} needs {parents_of(self._prefix)}{URL}"
            elif name in SLICE_NAMES:
                reason = f"${{{name}}} needs {self._prefix}{SLICE_START}"
            self._add(at, f"Invalid value for configuration {key}: {reason}")

    def _places(self) -> str:
        return f"{self._prefix}{URL}, {self._prefix}{BODY} or a key {self._prefix}{PARAMETERS}<name>"

    def _value(self, name: str) -> ConfigValue:
        return self._by_name[self._prefix + name]

    def _names(self, name: str) -> tuple[str, ...]:
        value = self._value(name)
        return TextTemplate(value.value).names if value.value and not value.errors else ()

    def _add(self, name: str, error: str) -> None:
        self._value(name).errors.append(error)
