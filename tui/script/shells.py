"""The shells' completion scripts, and how bash and fish must be told of the candidates.

`headrace -c 'stop ord` is one word with a quote that is open, and must stay open: the line may go on. zsh does all of
that. readline puts in what it gets as it stands, and closes the quote behind an only candidate; fish closes it too.
Of two that agree so far both insert what they share, and leave it open: so an only candidate gets a second one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.script.quoting import FISH as IN_FISH
from tui.script.quoting import SHELL, PartialLine, escaped, unfinished

BASH = r"""_headrace() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
        headrace __complete --bash "$COMP_TYPE" "$2" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 0 ]] || compopt -o nospace
}
complete -o default -F _headrace headrace
"""
ZSH = r"""#compdef headrace
_headrace() {
    local -a found shown
    local typed="${(Q)PREFIX}" behind=' '
    found=("${(@f)$(headrace __complete "${(@Q)words[2,CURRENT-1]}" "$typed" 2>/dev/null)}")
    if [[ -z "${found[1]}" ]]; then _files; return; fi
    shown=("${found[@]}")
    if [[ "$typed" == *' '* ]]; then shown=("${(@)found#${(b)typed% *} }"); fi
    if [[ "${(Q)words[CURRENT-1]}" == (-c|--command) || "$typed" == *' '* ]]; then behind=''; fi
    compadd -S "$behind" -d shown -- "${found[@]}"
}
if [ "$funcstack[1]" = "_headrace" ]; then _headrace "$@"; else compdef _headrace headrace; fi
"""
FISH = r"""function __headrace_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    headrace __complete --fish $words[2..-1] "$current" 2>/dev/null
end
complete -c headrace -f -a '(__headrace_complete)'
complete -c headrace -l script -l record -l replay -r -F
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
HOW = {
    "bash": "source <(headrace completion bash)",
    "zsh": "source <(headrace completion zsh)",
    "fish": "headrace completion fish | source",
}

_LISTS = str(ord("?"))  # COMP_TYPE of a second TAB: readline shows the candidates and inserts none


Find = Callable[[Sequence[str], str], list[str]]  # the candidates, from the words before and what is typed


def in_fish(before: Sequence[str], current: str, find: Find) -> list[str]:
    """`current` as it was typed, with its quote; a tab begins a description."""
    found = find(before, unfinished(current, IN_FISH).text)
    if len(found) == 1 and " " in found[0]:
        return [f"{found[0]}\tas it is", f"{found[0].rstrip()} \tand more"]
    return found


def in_bash(kind: str, part: str, line: str, find: Find) -> list[str]:
    """What COMPREPLY must hold: `part` is what readline replaces at the end of `line`, without the quote before it."""
    typed = unfinished(line, SHELL)
    found = find(typed.before[1:], typed.text)
    if len(found) > 1 and kind == _LISTS:
        start = unfinished(typed.text).start
        return [word[start:] for word in found]
    kept = unfinished(line.removesuffix(part), SHELL)
    if len(kept.before) != len(typed.before):
        return []  # readline and we differ about where the word begins
    written = _written([word.removeprefix(kept.text) for word in found], typed, kept)
    if len(written) != 1:
        return written
    if kept.quote:
        return [written[0], f"{written[0]} "]
    if " " in found[0]:
        return written  # a line: it may go on
    opened = "'" if written[0].startswith("'") else ""
    return [f"{written[0]}{opened} "]


def _written(rests: list[str], typed: PartialLine, kept: PartialLine) -> list[str]:
    """In the quote that is open; in a new one where a word begins that needs it, unless backslashes were begun with."""
    bare = not kept.quote and not kept.text and typed.line.endswith(typed.text)
    quote = "'" if bare and any(SHELL.special.search(rest) for rest in rests) else ""
    return [quote + escaped(rest, kept.quote or quote, SHELL) for rest in rests]
