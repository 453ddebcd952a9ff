"""Texts in code that can't be read: those that are just a path, and those that a shell may run."""

import re
from collections.abc import Iterable
from typing import Final

from supervisor.policy.bash.carried import likely
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.places import looks_like_path
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import HOLE, known

_TEXT: Final = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`")
_RUNS: Final = re.compile(
    r"exec|system|shell|spawn|popen|process|command|\bcmd\b|\bsh\b|\brun\b|qx|`|Bun\.\$|start",
    re.IGNORECASE,
)
"""What code says that runs programs, whatever the language."""
_WRITES: Final = re.compile(
    r"writ|save|spit|dump|append|creat|put|copy|move|renam|delet|remov|unlink|truncat", re.IGNORECASE
)
"""What code says that changes files."""
_MOST: Final = 64
_LONGEST: Final = 512


def literals(use: Use, code: str) -> None:
    """The texts that stand in code of which nothing else is known."""
    doubtful(use, (next(filter(None, each), "") for each in _TEXT.findall(code)), code)


def doubtful(use: Use, texts: Iterable[str], code: str) -> None:
    """What texts may be meant as: files that are read, and orders, where the code runs some."""
    runs = bool(_RUNS.search(code))
    writes = bool(_WRITES.search(code))
    for text in list(dict.fromkeys(texts))[:_MOST]:
        if not text or len(text) > _LONGEST or HOLE in text:
            continue
        if looks_like_path(text):
            use.emit(Act.READ, IN_DOUBT, known(text))
            if writes:
                use.emit(Act.WRITE, IN_DOUBT, known(text))
        elif runs and " " in text.strip():
            _order(use, text)


def _order(use: Use, text: str) -> None:
    """A text that may be run: what would be dangerous, or reads what is denied, counts."""
    if use.look.table.find(text.split(maxsplit=1)[0]) is None:
        return
    likely(use, lambda: use.script(known(text), stdin=False))
