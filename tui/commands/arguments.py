"""The arguments of commands, declared as typed descriptors.

    class Stop(Command):
        names = positionals("NAME", "the connectors")
        regex = flag("-e", "--regex", help="…")

`Stop(names=("a",)).names` is a tuple of str. The grammar, the help and the completion all read this declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

from tui.errors import UsageError
from tui.formatting import did_you_mean

T = TypeVar("T")


class Argument(Generic[T]):
    """A positional argument (no `flags`), an option, or a flag (no `convert`) of a command."""

    def __init__(
        self,
        default: T,
        *,
        flags: tuple[str, ...] = (),
        metavar: str = "",
        help: str = "",
        convert: Callable[[str], Any] | None = None,
        many: bool = False,
        at_least: int = 0,
    ) -> None:
        self.key = ""
        self.default, self.flags, self.metavar, self.help = default, flags, metavar, help
        self.convert, self.many, self.at_least = convert, many, at_least

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = name

    @overload
    def __get__(self, command: None, owner: type) -> Argument[T]: ...
    @overload
    def __get__(self, command: Any, owner: type) -> T: ...
    def __get__(self, command: Any, owner: type) -> Argument[T] | T:
        return self if command is None else cast(T, command.values.get(self.key, self.default))

    @property
    def shape(self) -> str:
        """The argument as it appears in a usage line."""
        if not self.flags:
            text = self.metavar + ("…" if self.many else "")
            return text if self.at_least else f"[{text}]"
        text = self.flags[0] + (f" {self.metavar}" if self.convert else "")
        return f"[{text}]…" if self.many else f"[{text}]"


def filled(text: str) -> str:
    """A text that is not empty, as that of an unset variable of a shell is. Raises UsageError."""
    if not text:
        raise UsageError("must not be empty")
    return text


def positional(metavar: str, help: str = "", convert: Callable[[str], str] = filled) -> Argument[str]:
    """A required positional argument."""
    return Argument("", metavar=metavar, help=help, convert=convert, at_least=1)


def optional_positional(metavar: str, help: str = "") -> Argument[str]:
    """An optional positional argument; empty if omitted."""
    return Argument("", metavar=metavar, help=help, convert=str)


def positionals(metavar: str, help: str, at_least: int = 1) -> Argument[tuple[str, ...]]:
    """Positional arguments, at least `at_least` of them."""
    return Argument((), metavar=metavar, help=help, convert=filled, many=True, at_least=at_least)


def option(*flags: str, metavar: str, help: str = "", convert: Callable[[str], T]) -> Argument[T | None]:
    """An option with a value; None if omitted."""
    return Argument(None, flags=flags, metavar=metavar, help=help, convert=convert)


def options(*flags: str, metavar: str, help: str = "") -> Argument[tuple[str, ...]]:
    """An option that can be repeated."""
    return Argument((), flags=flags, metavar=metavar, help=help, convert=str, many=True)


def flag(*flags: str, help: str = "") -> Argument[bool]:
    """An option without a value."""
    return Argument(False, flags=flags, help=help)


def regex_flag() -> Argument[bool]:
    """The flag -e, by which names are taken as regular expressions."""
    return flag("-e", "--regex", help="NAMEs are regular expressions that match whole names")


def choice(*choices: str) -> Callable[[str], str]:
    """A converter that accepts only these words, in any case. The converter raises UsageError."""

    def convert(text: str) -> str:
        for choice in choices:
            if text.lower() == choice.lower():
                return choice
        raise UsageError(f"{text!r} is not one of {', '.join(choices)}", did_you_mean(text, choices))

    return convert


def choices_in(text: str, *choices: str) -> frozenset[str]:
    """The words of a list with commas, each one of the choices. Raises UsageError."""
    return frozenset(map(choice(*choices), text.replace(" ", "").split(",")))


def duration(text: str) -> float:
    """Seconds from `500ms`, `30s`, `2m`, `1h` or a plain number of seconds. Raises UsageError."""
    for unit, factor in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)):
        number = text.removesuffix(unit) if unit else text
        if (not unit or text.endswith(unit)) and number.replace(".", "", 1).isdecimal():
            return float(number) * factor
    raise UsageError(f"{text!r} is not a duration: expected for example 30s, 2m or 500ms")


def integer(text: str) -> int:
    """A whole number. Raises UsageError."""
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a whole number") from None
