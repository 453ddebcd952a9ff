"""Names that programs and people give to copies of a file: a copy holds what the file holds."""

import re
from collections.abc import Iterator
from typing import Final

_EDITORS: Final = re.compile(
    r"#(?P<hash>.+)#"  # Emacs, while a file isn't saved
    r"|\.#(?P<lock>.+)"
    r"|\.(?P<vim>.+)\.(?:sw[a-z]|un~|swpx)"
    r"|\.(?P<kate>.+)\.kate-swp"
    r"|\.~lock\.(?P<office>.+)#"
    r"|(?P<numbered>.+)\.~[\d.]+~"
    r"|(?P<tilde>.+)~",
    re.DOTALL,
)
_KEPT: Final = (
    r"(?:bak|back|backup|old|orig|original|copy|save|saved|prev|previous|tmp|temp|swp|rej|disabled|off"
    r"|dpkg-(?:old|new|dist|tmp|bak)|ucf-(?:old|new|dist)|rpm(?:save|new|orig))"
)
_WHEN: Final = r"(?:\d{1,3}|\d{4}-?\d{2}-?\d{2}(?:[t_-]?\d{2}[-:]?\d{2}(?:[-:]?\d{2})?)?|\d{9,10})"
_ENDS: Final = re.compile(rf"(?P<name>.+?)[._ -](?:{_KEPT}[._-]?\d*|{_WHEN})", re.DOTALL)
"""`NAME.bak`, `NAME_old2`, `NAME.1`, `NAME.2026-01-31`."""
_COPY: Final = (
    r"(?:[ _-]+(?:copy|kopie|copie|copia)(?:[ _-]*\d+)?| ?\((?:copy|\d+|(?:another|\d\w+) copy)\))"
)
_COPIED: Final = re.compile(rf"(?P<stem>.+?)(?:{_COPY}|[_-]{_KEPT}\d*)(?P<end>\.[^.]+)?", re.DOTALL)
"""`NAME (1).json`, `NAME copy.json`, `NAME_backup.json`."""
_COPY_OF: Final = re.compile(r"(?:copy (?:\(\d+\) )?of|backup of) (?P<name>.+)", re.DOTALL)
_MARKED: Final = re.compile(
    r"[#~(]|\d(?:\.[^.]*)?\Z|\.sw|swp|bak|back|old|orig|cop[iy]|kopi|save|prev|te?mp|rej|disabled|off"
    r"|dpkg|ucf|rpm"
)
"""Stands in the name of every copy: other names, nearly all, are done with in one look."""
_LONGEST: Final = 512
"""Characters; no file system holds a longer name."""
_MOST: Final = 3
"""Copies of copies that are looked through (`NAME.bak~`)."""


def originals(name: str) -> Iterator[str]:
    """What a file of this name, in lower case, is a copy of; most are none."""
    if len(name) > _LONGEST or _MARKED.search(name) is None:
        return
    told = {name}
    rows = [name]
    for _ in range(_MOST):
        rows = [each for one in rows for each in _once(one) if each not in told]
        if not rows:
            return
        told.update(rows)
        yield from dict.fromkeys(rows)


def _once(name: str) -> Iterator[str]:
    editors = _EDITORS.fullmatch(name)
    if editors is not None:
        yield next(each for each in editors.groups() if each is not None)
    ends = _ENDS.fullmatch(name)
    if ends is not None:
        yield ends["name"]
    copied = _COPIED.fullmatch(name)
    if copied is not None:
        yield f"{copied['stem']}{copied['end'] or ''}"
    of = _COPY_OF.fullmatch(name)
    if of is not None:
        yield of["name"]
