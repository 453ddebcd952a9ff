"""What builds and runs by a file of recipes: a makefile, the scripts of a `package.json`.

Files on the disk aren't read, only those that the call gives or has written itself.
"""

import json
from collections.abc import Iterator
from typing import Final

from supervisor.policy.bash.apply import apply
from supervisor.policy.bash.interpreters import INPUTS
from supervisor.policy.bash.makefile import makefile
from supervisor.policy.bash.places import join
from supervisor.policy.bash.roles import option_values
from supervisor.policy.bash.use import Use, substituted
from supervisor.policy.bash.value import Value, known

_MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
_PACKAGE: Final = "package.json"
_SETS_SCRIPT: Final = "scripts."
_MOST_SCRIPTS: Final = 24


def make(use: Use) -> None:
    """Targets and variables, and makefiles that the call gives or has written."""
    apply(use)
    stdin = use.invocation.stdin
    named = option_values(use, "script")
    for value in named:
        given = substituted(use, value) or (stdin if value.only in INPUTS else None)
        if given is not None:
            if not given.text.known:
                use.unknown("runs a makefile that can't be told before it runs")
            for each in given.text.texts:
                makefile(use, each.text)
    for value in named or map(known, _MAKEFILES):
        for text in _written(use, value):
            makefile(use, text)
    for word in use.parsed.operands:
        _set(use, word.texts[0].text)


def _set(use: Use, word: str) -> None:
    """`NAME=VALUE` among the targets, which may say what runs the recipes."""
    name, equals, text = word.partition("=")
    if equals and name.rstrip(":") in {"SHELL", ".SHELLFLAGS", "MAKEFLAGS"}:
        use.unknown(f"{name} changes what runs the recipes")
        if name.rstrip(":") == "SHELL":
            use.script(known(text), stdin=False)
    elif equals:
        variable = use.look.table.variable(name.rstrip(":?+"))
        runs = variable is not None and variable.role.kind in {"shell", "program"}
        if runs and variable is not None and text and text not in variable.fine:
            use.script(known(text), stdin=False)


def scripts(use: Use) -> None:
    """`npm run NAME`: the scripts of a `package.json` that the call itself has written."""
    apply(use)
    for word in use.parsed.operands:
        name, equals, text = word.texts[0].text.partition("=")
        if equals and name.startswith(_SETS_SCRIPT):  # `npm pkg set scripts.NAME=TEXT`
            package = json.dumps({"scripts": {name: text}})
            use.look.kept.hold(join(use.cwd, known(_PACKAGE)), package)
            return
    for text in _written(use, known(_PACKAGE)):
        for script in _scripts_of(text)[:_MOST_SCRIPTS]:
            use.script(known(script), stdin=False)


def _scripts_of(text: str) -> list[str]:
    try:
        package = json.loads(text)
    except ValueError:
        return []
    found = package.get("scripts") if isinstance(package, dict) else None
    scripts = found.values() if isinstance(found, dict) else ()
    return [each for each in scripts if isinstance(each, str)]


def _written(use: Use, name: Value) -> Iterator[str]:
    """The texts that the call itself has put into a file, as far as it is known."""
    kept = use.look.kept
    written = None if kept.empty else kept.of(join(use.cwd, name))
    for each in written.texts if written is not None else ():
        yield each.text
