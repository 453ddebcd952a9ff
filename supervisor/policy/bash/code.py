"""Code in a command's words, by its language."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.given_code import with_given
from supervisor.policy.bash.little_languages import LITTLE
from supervisor.policy.bash.other_code import other_code
from supervisor.policy.bash.outside import each_line, given_to, takes
from supervisor.policy.bash.python_code import python_code
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, Value

LONGEST: Final = 16_000
"""Characters of code that are looked at; beyond, it is unknown."""
_MOST: Final = 8
_ASKED: Final = (
    r"process\.env(?:\.HOME|\[['\"]HOME['\"]\])|ENV(?:\[|\.fetch\()['\"]HOME['\"][\])]"
    r"|Dir\.home(?:\(\))?|File\.expand_path\(['\"]~['\"]\)"
    r"|(?<=[,(\s])\$ENV\{['\"]?HOME['\"]?\}(?=\s*[,);])|(?:os\.)?getenv\(['\"]HOME['\"]\)|Deno\.env\.get\(['\"]HOME['\"]\)"
    r"|ENVIRON\[['\"]HOME['\"]\]|\$_(?:SERVER|ENV)\[['\"]HOME['\"]\]"
    r"|(?:require\(['\"](?:node:)?os['\"]\)|os)\.homedir\(\)"
)
_HOME: Final = re.compile(_ASKED)
_IN_TEMPLATE: Final = re.compile(rf"[$#]\{{(?:{_ASKED})\}}")
_TILDE: Final = re.compile(r"(?<=[\"'])~(?=[/\"'])")
_KNOW_TILDE: Final = frozenset({"r", "lisp", "lines", "tcl", "vim"})
"""Languages whose own functions take `~` for the home folder."""
_TAKERS: Final = frozenset({"perl", "ruby", "javascript", "php", "lua", "r", "julia", "awk"})
_BIG: Final[Mapping[str, Callable[[Use, str], None]]] = {"python": python_code}


def run_code(use: Use, language: str, value: Value) -> None:
    """What the code does, as far as its calls can be recognised."""
    for each in value.texts[:_MOST]:
        code = _with_home(each.text, use.look.home) if language != "python" else each.text
        if "~" in code and language in _KNOW_TILDE:
            code = _TILDE.sub(lambda _found: use.look.home, code)
        if HOLE in code:
            use.unknown("runs code that can't be told before it runs")
            if not code.strip(HOLE):
                continue
        if len(code) > LONGEST:
            use.unknown("runs code that is too long to be read")
            continue
        if not takes(code):
            _read(use, language, code)
        else:
            _read_with_given(use, language, code)


_UNKNOWN_OUTSIDE: Final = "does what it is told from outside"
_QUIET: Final = frozenset({Act.UNKNOWN, Act.REVEAL, Act.LIST})


def _read(use: Use, language: str, code: str) -> None:
    read = _BIG.get(language) or LITTLE.get(language)
    if read is not None:
        read(use, code)
    else:
        other_code(use, language, code)


def _read_with_given(use: Use, language: str, code: str) -> None:
    """Code that takes something from outside, with what that is as far as it is known."""
    given = given_to(use)
    filled = code
    if language in _TAKERS:
        filled = with_given(language, code, given, lines=each_line(use))
    if len(filled) > LONGEST:
        filled = code
    kept, use.outside = use.outside, given.all
    try:
        effects = use.look.gathered(lambda: _read(use, language, filled))
    finally:
        use.outside = kept
    for each in effects:
        use.look.add(each)
    if filled != code and any(each.act not in _QUIET for each in effects):
        use.unknown(_UNKNOWN_OUTSIDE)  # which word is taken when isn't followed


def _with_home(code: str, home: str) -> str:
    """The code with the home folder as a text where it asks for it, in any language's words."""
    if "HOME" not in code and "home" not in code and "~" not in code:
        return code
    text = json.dumps(home)
    code = _IN_TEMPLATE.sub(home, code)
    return _HOME.sub(lambda _found: text, code)
