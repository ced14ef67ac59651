"""The shells' completion scripts, and the form of the candidates for bash and fish.

`headrace -c 'stop ord` is one word with an open quote, which must remain open, since the line may continue. zsh
handles this itself. bash (readline) and fish close the quote after a single candidate, but of two candidates they
insert the common prefix and leave the quote open. Therefore a single candidate is accompanied by a second one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.script import quoting
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
complete -c headrace -n 'contains -- (commandline -opc)[2..2] plugin worker offsets' -F
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
HOW = {
    "bash": "source <(headrace completion bash)",
    "zsh": "source <(headrace completion zsh)",
    "fish": "headrace completion fish | source",
}

_LISTS = str(ord("?"))  # COMP_TYPE of a second tab: readline lists the candidates and inserts none


Find = Callable[[Sequence[str], str], list[str]]  # (words before, current word) → candidates


def in_fish(before: Sequence[str], current: str, find: Find) -> list[str]:
    """Candidates for fish, with descriptions after a tab; `current` includes its quote."""
    completions = find(before, unfinished(current, quoting.FISH).text)
    if len(completions) == 1 and " " in completions[0]:
        return [f"{completions[0]}\tas typed", f"{completions[0].rstrip()} \tand more"]
    return completions


def in_bash(kind: str, part: str, line: str, find: Find) -> list[str]:
    """Candidates for COMPREPLY; `part` is the end of `line` that readline replaces, without the quote before it."""
    typed = unfinished(line, SHELL)
    completions = find(typed.before[1:], typed.text)
    if len(completions) > 1 and kind == _LISTS:
        start = unfinished(typed.text).start
        return [word[start:] for word in completions]
    kept = unfinished(line.removesuffix(part), SHELL)
    if len(kept.before) != len(typed.before):
        return []  # readline splits the line differently
    written = _written([word.removeprefix(kept.text) for word in completions], typed, kept)
    if len(written) != 1:
        return written
    if kept.quote:
        return [written[0], f"{written[0]} "]
    if " " in completions[0]:
        return written  # a command may continue
    opened = "'" if written[0].startswith("'") else ""
    return [f"{written[0]}{opened} "]


def _written(rests: list[str], typed: PartialLine, kept: PartialLine) -> list[str]:
    """The candidates escaped for the open quote, or in a new quote if needed and the word has no backslashes yet."""
    bare = not kept.quote and not kept.text and typed.line.endswith(typed.text)
    quote = "'" if bare and any(SHELL.special.search(rest) for rest in rests) else ""
    return [quote + escaped(rest, kept.quote or quote, SHELL) for rest in rests]
