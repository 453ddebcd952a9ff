"""Compilers and linkers: options by which they load or start what isn't their own."""

import re
from collections.abc import Iterator
from typing import Final

from supervisor.policy.bash.dialogues import quoting
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import known

_LOADS: Final = frozenset(
    """-fplugin -fpass-plugin -load -load-pass-plugin -plugin --plugin -processorpath
    --processor-path -processor -load-plugin-library -load-plugin-executable -plugin-path
    -external-plugin-path""".split()  # noqa: SIM905
)
"""Options whose value is a library or class that is loaded, whatever it is called."""
_FINDS: Final = frozenset(
    """-B -fuse-ld --ld-path -specs --specs -C -Z --codegen linker codegen-backend
    -ccc-gcc-name --gcc-toolchain -resource-dir --config -ccbin --compiler-bindir""".split()  # noqa: SIM905
)
"""Options whose value is a program, or a folder of such: a plain name is one of the machine's."""
_FOLDERS: Final = frozenset({"-B", "--gcc-toolchain", "-resource-dir"})
"""Those of them whose value is a folder, also where it is a plain name."""
_OF_LINKERS: Final = frozenset(
    {"static", "dynamic", "shareable", "symbolic", "symbolic-functions", "group", "local"}
)
"""What a linker's `-B` takes in place of one."""
_PROGRAMS: Final = re.compile(r"-pgm[A-Za-z]+")
"""GHC's own: `-pgmF PROGRAM`."""
_PASSED_ON: Final = frozenset({"-Xclang", "-Xlinker", "-mllvm", "-Xcompiler", "-Xpreprocessor"})
"""What stands before a word that is meant for another part of the compiler."""
_KEYS: Final = ("linker=", "codegen-backend=")
_REASON: Final = "loads code or programs into the compiler"


def compiler(use: Use) -> None:
    """What it reads and writes, and whether it loads or starts anything that isn't its own."""
    quoting(use)
    words = [text for text in _words(use) if text not in _PASSED_ON]
    for at, word in enumerate(words):
        if word[:1] != "-":
            continue
        after = words[at + 1] if at + 1 < len(words) else ""
        name, equals, value = word.partition("=")
        if name == "-wrapper":
            use.start([known(each) for each in (value or after).split(",")])
        elif _loads(name) or _foreign(name, value if equals else after, word):
            use.unknown(_REASON)


def _loads(name: str) -> bool:
    return name in _LOADS or _PROGRAMS.fullmatch(name) is not None


def _foreign(name: str, value: str, word: str) -> bool:
    """Whether an option names a program, or a folder of such, by a path."""
    if name in {"-C", "-Z", "--codegen"}:  # rustc's: the value is a setting
        key, _, value = value.partition("=")
        name = key
    elif word[:2] in {"-C", "-Z"} and word[2:].startswith(_KEYS):
        name, _, value = word[2:].partition("=")
    elif word[:2] == "-B" and len(word) > 2:  # noqa: PLR2004 - `-BFOLDER`
        name, value = "-B", word[2:]
    if name in _FOLDERS and value and value not in _OF_LINKERS:
        return True
    return name in _FINDS and ("/" in value or value[:1] == ".")


def _words(use: Use) -> Iterator[str]:
    """The words, and those that one word hands on (`-Wl,-plugin,X`)."""
    for each in use.argv[use.at :]:
        text = each.texts[0].text
        if text.startswith("-W") and "," in text:
            yield from text.split(",")[1:]
        else:
            yield text
