"""The tokens of .proto files, and the values of options."""

from __future__ import annotations

import ast
import re
from typing import Any

from runtime.api.errors import DataError

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<name>\.?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
    |(?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)f?)
    |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)


class Tokens:
    """A cursor over tokens; DataError, with the line, for unexpected ones."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(m.lastgroup, m.group(), m.start()) for m in _TOKEN.finditer(text) if m.lastgroup != "skip"]
        self._at = 0

    @property
    def next(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def kind(self) -> str | None:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else None

    def take(self) -> str:
        if self._at >= len(self._tokens):
            raise self.error("unexpected end")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def accept(self, token: str) -> bool:
        """Whether the next token is this one, which is then taken."""
        if self.next != token:
            return False
        self._at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"expected {token!r} instead of {self.next!r}")

    def name(self) -> str:
        if self.kind() != "name":
            raise self.error(f"expected a name instead of {self.next!r}")
        return self.take()

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        token = self.take()
        try:
            octal = len(token) > 1 and token.startswith("0") and token.isdigit()
            return sign * int(token, 8 if octal else 0)
        except ValueError:
            raise self.error(f"expected an integer instead of {token!r}") from None

    def text(self) -> str:
        """Adjacent strings, joined. Bytes in escapes are Latin-1 characters."""
        parts = []
        while self.kind() == "text":
            parts.append(ast.literal_eval(self.take()))
        if not parts:
            raise self.error(f"expected a string instead of {self.next!r}")
        return "".join(parts)

    def skip_statement(self) -> None:
        """Skips to the end of a statement: a semicolon, or a block."""
        depth = 0
        while True:
            token = self.take()
            depth += (token in "{[(") - (token in "}])")
            if depth == 0 and token in (";", "}"):
                return

    def value(self) -> Any:
        """The value of an option: text, number, name, list, or a message as a list of names and values."""
        if self.kind() == "text":
            return self.text()
        if self.accept("{"):
            return self._message("}")
        if self.accept("<"):
            return self._message(">")
        if self.accept("["):
            return self._list()
        sign = "-" if self.accept("-") else ""
        return sign + self.take()

    def _list(self) -> list[Any]:
        made = []
        while not self.accept("]"):
            made.append(self.value())
            self.accept(",")
        return made

    def _message(self, end: str) -> list[tuple[str, Any]]:
        made = []
        while not self.accept(end):
            name = self._bracketed() if self.next == "[" else self.name()
            self.accept(":")
            made.append((name, self.value()))
            _ = self.accept(",") or self.accept(";")
        return made

    def _bracketed(self) -> str:
        parts = []
        while not self.accept("]"):
            parts.append(self.take())
        return "".join(parts) + "]"

    def error(self, problem: str) -> DataError:
        where = self._tokens[self._at][2] if self._at < len(self._tokens) else len(self._text)
        line = self._text.count("\n", 0, where) + 1
        return DataError(f"The Protobuf schema is invalid at line {line}: {problem}")
