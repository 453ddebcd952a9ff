"""Code in a command's words, by its language."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from supervisor.policy.bash.little_languages import LITTLE
from supervisor.policy.bash.other_code import other_code
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
_BIG: Final[Mapping[str, Callable[[Use, str], None]]] = {"python": python_code}


def run_code(use: Use, language: str, value: Value) -> None:
    """What the code does, as far as its calls can be recognised."""
    read = _BIG.get(language) or LITTLE.get(language)
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
        if read is not None:
            read(use, code)
        else:
            other_code(use, language, code)


def _with_home(code: str, home: str) -> str:
    """The code with the home folder as a text where it asks for it, in any language's words."""
    if "HOME" not in code and "home" not in code and "~" not in code:
        return code
    text = json.dumps(home)
    code = _IN_TEMPLATE.sub(home, code)
    return _HOME.sub(lambda _found: text, code)
