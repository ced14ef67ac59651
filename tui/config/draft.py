"""Drafts of configs: the edited text, the config it is based on, and the review of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tui.config.applying import ConfigEdit
from tui.config.changes import ConfigChange, changes, merged
from tui.config.definitions import Validation, unknown
from tui.config.secrets import contains_mask, is_masked, shown
from tui.config.text import ConfigFormat, ParsedConfig, read, write
from tui.editor.checks import Problem, Severity
from tui.editor.places import NO_POSITION, TextPosition


class ConfigReview(NamedTuple):
    """The parsed text, the changes it makes, and the problems in the order of their lines."""

    read: ParsedConfig
    changes: tuple[ConfigChange, ...]
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)


class ConfigDraft(NamedTuple):
    """An edited config. `base` is the config as the worker returned it, `original` its text with secrets masked."""

    name: str
    base: Mapping[str, str]
    text: str
    original: str
    form: ConfigFormat = ConfigFormat.JSON
    passwords: frozenset[str] = frozenset()

    @property
    def is_touched(self) -> bool:
        return self.text != self.original

    @property
    def is_new(self) -> bool:
        """Whether the connector does not exist yet."""
        return not self.base

    @property
    def fields(self) -> dict[str, str]:
        """What is kept on disk: see restored()."""
        return {"text": self.text, "original": self.original, "form": self.form.value}

    def typed(self, text: str) -> ConfigDraft:
        return self._replace(text=text)

    def converted(self) -> ConfigDraft | None:
        """The draft converted to the other format; None while the text has errors."""
        parsed = read(self.text, self.form)
        if parsed.problems:
            return None
        form = self.form.other
        return self._replace(form=form, text=write(parsed.config, form), original=self._written(self.base, form))

    def _written(self, config: Mapping[str, str], form: ConfigFormat) -> str:
        return write(shown(config, self.passwords), form)

    def rebased(self, now: Mapping[str, str], passwords: frozenset[str] = frozenset()) -> ConfigDraft:
        """The same changes applied to the current config, which keeps changes of other keys by others. `passwords` are
        the keys of type PASSWORD of the current config."""
        edits = changes(self.base, read(self.text, self.form).config)
        passwords |= self.passwords
        hidden = shown(now, passwords)
        text = write(merged(hidden, edits), self.form)
        return self._replace(base=dict(now), text=text, original=write(hidden, self.form), passwords=passwords)

    def to_validate(self) -> dict[str, str]:
        """The whole config with the values behind the console's masks. Values that the worker itself masks are omitted:
        a mask is never sent."""
        config = read(self.text, self.form).config
        whole = merged(self.base, changes(self.base, config)) if self.base else dict(config)
        return {key: value for key, value in whole.items() if not is_masked(value)} | {"name": self.name}

    def review(self, validation: Validation | None = None) -> ConfigReview:
        """Checks the text. `validation` is the worker's response for this text or a slightly older one."""
        parsed = read(self.text, self.form)
        edits = changes(self.base, parsed.config) if not parsed.problems else ()
        problems = [*parsed.problems]
        if not parsed.problems:
            problems += self._local_problems(parsed)
            problems += self._worker_problems(parsed, validation) if validation else ()
        problems.sort(key=lambda problem: (problem.severity is Severity.WARNING, problem.place))
        return ConfigReview(parsed, edits, tuple(problems))

    def _local_problems(self, parsed: ParsedConfig) -> list[Problem]:
        """Problems that are found without the worker."""
        problems = []
        if parsed.config.get("name", self.name) != self.name and not self.is_new:
            problems.append(_problem(parsed, "name", "a connector cannot be renamed: create a new one"))
        for key, value in parsed.config.items():
            if is_masked(value) and key not in self.base:
                problems.append(_problem(parsed, key, f"{key}: this is a mask, not a value; enter the value"))
            if contains_mask(value) and value != self.base.get(key):
                problems.append(
                    _problem(parsed, key, f"{key}: the value still contains the mask; replace the whole value")
                )
        return problems

    def _worker_problems(self, parsed: ParsedConfig, validation: Validation) -> list[Problem]:
        kept = {key for key, value in self.base.items() if is_masked(value)}  # not sent, and therefore not missing
        problems = []
        for key, errors in validation.errors.items():
            if key not in kept and key != "name":
                problems += [_problem(parsed, key, _named(key, text)) for text in errors]
        for key, like in unknown(parsed.config, validation.keys).items():
            hint = f"; did you mean {like}?" if like else ""
            problems.append(_problem(parsed, key, f"the plugin has no key {key}{hint}", Severity.WARNING))
        return problems

    def edit(self, changes: Sequence[ConfigChange]) -> ConfigEdit:
        return ConfigEdit(self.name, self.base, tuple(changes))


def of(
    name: str, base: Mapping[str, str], passwords: frozenset[str] = frozenset(), form: ConfigFormat = ConfigFormat.JSON
) -> ConfigDraft:
    """A draft of an unchanged config."""
    text = write(shown(base, passwords), form)
    return ConfigDraft(name, dict(base), text, text, form, passwords)


def restored(name: str, fields: Mapping[str, str], passwords: frozenset[str]) -> ConfigDraft:
    """The draft of a console that has ended. Its base has masks instead of secrets, which are not on disk: rebased()
    onto the current config."""
    form = ConfigFormat.PROPERTIES if fields.get("form") == ConfigFormat.PROPERTIES.value else ConfigFormat.JSON
    original = fields.get("original", "")
    return ConfigDraft(name, dict(read(original, form).config), fields.get("text", ""), original, form, passwords)


def _problem(parsed: ParsedConfig, key: str, message: str, severity: Severity = Severity.ERROR) -> Problem:
    return Problem(severity, message, _place(parsed, key))


def _place(parsed: ParsedConfig, key: str) -> TextPosition:
    """The position of the key or, if it is missing, of another key of its alias (`transforms.x.…`) or of the list."""
    if key in parsed.places:
        return parsed.places[key]
    parts = key.split(".")
    for length in range(len(parts) - 1, 0, -1):
        stem = ".".join(parts[:length])
        near = [place for name, place in parsed.places.items() if name == stem or name.startswith(f"{stem}.")]
        if near:
            return parsed.places.get(stem) or min(near)
    return NO_POSITION


def _named(key: str, message: str) -> str:
    """The message with its key in front, unless it names the key already."""
    return message if key in message else f"{key}: {message}"
