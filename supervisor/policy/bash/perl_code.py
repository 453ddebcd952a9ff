"""What only Perl has: here-documents that run, files for `<>`, handles that `open` fills."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from supervisor.policy.bash.code_tokens import Tokens
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, known

_RUN_DOCUMENT: Final = re.compile(r"<<~?\s*`(\w+)`[^\n]*\n(.*?)\n\s*\1\b", re.DOTALL)
_FINDS: Final = re.compile(r"\b(?:find|finddepth|File::Find|readdir|glob)\b")
_ARGUMENTS: Final = frozenset({"@ARGV", "*ARGV"})
_REMOVES: Final = re.compile(r"\b(?:unlink|rmdir|rmtree|remove_tree)\b")


def perl(use: Use, code: str, text: Tokens) -> None:
    """What only Perl has: here-documents that run, and files for `<>`."""
    for found in _RUN_DOCUMENT.finditer(code):
        use.script(known(found[2]))
    if _FINDS.search(code) and _REMOVES.search(code):
        for each in text.all:
            if each.value and each.value.startswith(("/", "~")):
                value = known(each.value)
                use.emit(Act.DELETE, "may be removed by code", value, recursive=True)
    for at, token in enumerate(text.all):
        behind = [each for each in text.all[at + 1 : at + 3] if each.text != "("][:1]
        if token.text == "do" and behind and behind[0].value:
            use.emit(Act.READ, "is run by code", known(behind[0].value))
            use.unknown("loads code")
    _files_given(use, text)


def _files_given(use: Use, text: Tokens) -> None:
    """`@ARGV = ("a")`: files that `<>` then reads."""
    for at, token in enumerate(text.all):
        if token.text in _ARGUMENTS and any(each.text == "=" for each in text.all[at + 1 : at + 6]):
            end = at
            while end < len(text.all) and text.all[end].text != ";":
                end += 1
            for each in text.all[at:end]:
                if each.value:
                    use.emit(Act.READ, "is read by code", known(each.value))


def opened(values: Sequence[object]) -> list[object]:
    """Perl's `open F, "<", NAME`: the handle is no name, the mode comes first."""
    rest = list(values[1:])
    if len(rest) > 1 and isinstance(rest[0], str):
        mode = rest[0].strip().partition(":")[0].strip()
        if mode in {"-|", "|-"}:
            words = [each if isinstance(each, str) else HOLE for each in rest[1:]]
            return [f"|{words[0] if len(words) == 1 else shlex.join(words)}"]
        return [rest[1], {"<": "r", ">": "w", ">>": "a"}.get(mode, "r+")]
    return rest
