"""A cursor over the characters of a pattern, and errors with the index that Java reports."""

from __future__ import annotations

NUL = "\0"
_BLANKS = " \t\n\x0b\f\r"
_LINE_ENDS = "\n\r\x85\u2028\u2029"


class PatternError(Exception):
    """An invalid pattern, with the message of java.util.regex.PatternSyntaxException."""

    def __init__(self, reason: str, pattern: str, index: int) -> None:
        near = f" near index {index}" if index >= 0 else ""
        pointer = f"\n{' ' * index}^" if 0 <= index < len(pattern.encode("utf-16-be", "surrogatepass")) // 2 else ""
        super().__init__(f"{reason}{near}\n{pattern}{pointer}")


class Cursor:
    """The position in a pattern. Terminators follow the pattern, so that looking ahead needs no check for its end."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.chars = unquoted(pattern)
        self.length = len(self.chars)
        self.chars += [NUL, NUL, NUL, NUL]
        self.at = 0
        self.flags = frozenset[str]()

    def error(self, reason: str) -> PatternError:
        """The error at the current position."""
        return PatternError(reason, self.pattern, self.at - 1)

    @property
    def ended(self) -> bool:
        """Whether the pattern has been read to its end."""
        return self.at >= self.length

    def peek(self) -> str:
        """The next character, which remains unread; skips comments before it if they are enabled (flag x)."""
        if "x" in self.flags:
            self._pass_comments()
        return self.chars[min(self.at, self.length + 1)]

    def read(self) -> str:
        """Reads the next character."""
        char = self.peek()
        self.at += 1
        return char

    def next(self) -> str:
        """Skips a character and returns the next one, which remains unread."""
        self.at += 1
        return self.peek()

    def raw(self, ahead: int = 0) -> str:
        """The character `ahead` of the position, even in a comment."""
        return self.chars[min(self.at + ahead, self.length + 1)]

    def expect(self, char: str, reason: str) -> None:
        """Reads the expected character; PatternError if another one follows."""
        if self.read() != char:
            raise self.error(reason)

    def _pass_comments(self) -> None:
        while (char := self.raw()) in _BLANKS or char == "#":
            if char in _BLANKS:
                self.at += 1
                continue
            ends = "\n" if "d" in self.flags else _LINE_ENDS
            while not self.ended and self.raw() not in ends:
                self.at += 1
            if self.ended:
                self.at = self.length
                return


def unquoted(pattern: str) -> list[str]:
    r"""The characters with \Q…\E replaced with escapes."""
    chars: list[str] = []
    position = 0
    while position < len(pattern):
        if pattern.startswith("\\Q", position):
            end = pattern.find("\\E", position + 2)
            text = pattern[position + 2 : end if end >= 0 else len(pattern)]
            chars += _escaped(text)
            position = end + 2 if end >= 0 else len(pattern)
        else:
            width = 2 if pattern[position] == "\\" else 1
            chars += pattern[position : position + width]
            position += width
    return chars


def _escaped(text: str) -> list[str]:
    escaped: list[str] = []
    for index, char in enumerate(text):
        if index == 0 and "0" <= char <= "9":  # must not extend an escape before it
            escaped += "\\x3"
        elif char.isascii() and not char.isalnum():
            escaped.append("\\")
        escaped.append(char)
    return escaped
