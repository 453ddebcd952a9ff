"""Shells and interpreters: code in their words, from their input, or in a file that they run."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from supervisor.policy.bash.apply import apply, natural
from supervisor.policy.bash.carried import likely
from supervisor.policy.bash.code import run_code
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.listening import open_to_all
from supervisor.policy.bash.options import cut
from supervisor.policy.bash.other_shells import as_bash
from supervisor.policy.bash.places import join
from supervisor.policy.bash.roles import option_values, play_as
from supervisor.policy.bash.shell.hints import connects
from supervisor.policy.bash.use import Use, substituted
from supervisor.policy.bash.value import HOLE, Value, known

INPUTS: Final = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_OTHER_SHELLS: Final = frozenset({"fish", "csh", "tcsh", "nu", "xonsh", "elvish"})
_UNPACKS: Final = frozenset({"-e", "--extract"})
_PUT_BY: Final = re.compile(r"(?:-[oC]|--(?:outfile|output|coverdir|data-file|file))(?==|\Z)")
_NO_FILE: Final = re.compile(r"-|\d+\Z")
_VERBS: Final = frozenset({"r", "e", "c", "run", "eval", "compile", "script"})
"""Subcommands of `nim` and its kin, behind which a file stands."""
_CARETS: Final = re.compile(r"(^|[;|\n({]\s*)\^")
_SIMPLE: Final = re.compile(r"[\w\s./~:=@,%+'\"-]*")


def shell(use: Use) -> None:
    """`sh [-c TEXT [NAME [ARG…]]] [FILE [ARG…]]`, or text from its input."""
    for option, value in use.parsed.values:
        if option.role is not None and option.role.kind != "text":
            play_as(use, option.role.kind, value)
    words = use.parsed.operands
    if "help" in use.tags:
        return
    if "checks" in use.tags and not any(_turns_on(each) for each in use.argv):
        if words and "command" not in use.tags:
            play_as(use, "read", words[0])
        return  # `-n`: the text is read, and nothing of it is run
    if "command" in use.tags and words:
        _text(use, words[0])
    elif words and "input" not in use.tags and words[0].only not in INPUTS:
        given = substituted(use, words[0])
        if given is not None:
            _from_input(use, given)
        else:
            play_as(use, "script", words[0])
            place = join(use.cwd, words[0])
            text = use.look.kept.of(place)
            if text is not None:
                use.look.follow(use, place, text, tuple(words), use.base)
    else:
        _from_input(use, use.invocation.stdin)


def _turns_on(word: Value) -> bool:
    """Whether a word may take an option of the shell back (`+n`)."""
    return any(each.text.startswith(("+", HOLE)) for each in word.texts)


def _text(use: Use, text: Value) -> None:
    name = use.base
    if name in _OTHER_SHELLS and not all(_SIMPLE.fullmatch(each.text) for each in text.texts):
        use.unknown(f"runs text of {name}, which is read as if it were bash")
    if name == "nu":  # `^NAME` is a program that isn't nu's own
        plain = (_CARETS.sub(r"\1", each.text) for each in text.texts)
        text = Value(known(*plain).texts, text.from_data)
    within = use.within(tuple(use.parsed.operands[1:]))
    use.look.script(text, within, name)
    for each in text.texts:
        for other in as_bash(each.text, name):
            likely(use, lambda other=other: use.look.script(known(other), within, name))  # type: ignore[misc]
        if name == "xonsh":
            likely(use, lambda each=each: run_code(use, "python", known(each.text)))  # type: ignore[misc]


def _from_input(use: Use, stdin: Stdin | None) -> None:
    if stdin is None:
        return
    arguments = (known(use.base), *use.parsed.operands) if "input" in use.tags else ()
    if stdin.text.known:
        use.look.script(stdin.text, use.within(arguments, stdin=False), use.base)
    else:
        use.unknown(_fed(stdin.sources))
        if any(each.text.strip(HOLE) for each in stdin.text.texts):
            use.look.script(stdin.text, use.within((), stdin=False), use.base)


def _fed(sources: tuple[str, ...]) -> str:
    names = ", ".join(dict.fromkeys(each for each in sources if HOLE not in each))
    return f"runs what {names} prints" if names else "runs text from its input that can't be told"


def interpreter(use: Use) -> None:  # noqa: C901, PLR0912 - one case a place of the code
    """Code behind an option, a module, a file, or code from its input."""
    language = next((tag[3:] for tag in use.tags if tag.startswith("in:")), "")
    words = use.parsed.operands
    if "help" in use.tags:
        return
    if language == "javascript" and any(v.only in _LOADS_ENV for _, v in use.parsed.values):
        use.unknown("loads variables of `.env`, which may hold secrets")
    if "code" in use.tags or "module" in use.tags:
        if _un(use):
            return
        apply(use)
        if "module" in use.tags:
            _module(use)
        return
    if "verbs" in use.tags and len(words) > 1 and words[0].only in _VERBS:
        use.parsed.operands = words = words[1:]
    if words and (words[0].only or "").startswith("("):
        run_code(use, language, words[0])
        return
    stdin = substituted(use, words[0]) if words else None
    if words and stdin is None and words[0].only not in INPUTS:
        apply(use)
        _known_script(use, words)
        text = use.look.kept.of(join(use.cwd, words[0]))
        if text is not None:
            run_code(use, language, text)
        return
    for option, value in use.parsed.values:
        if option.role is not None and option.role.kind not in {"text", "code"}:
            play_as(use, option.role.kind, value)
    natural(use)
    for word in (*words[1:], *use.parsed.doubts):
        play_as(use, "doubt", word)
    for word in (*use.parsed.puts, *use.parsed.reports):
        play_as(use, "report", word)
    stdin = stdin or use.invocation.stdin
    if stdin is None:
        return
    if connects(stdin.sources):
        use.emit(Act.REMOTE_SHELL, "runs what the network says")
    if not stdin.text.known:
        use.unknown(_fed(stdin.sources))
    if any(each.text.strip(HOLE) for each in stdin.text.texts):
        run_code(use, language, stdin.text)


_LOADS_ENV: Final = frozenset({"dotenv/config", "dotenv-flow/config", "dotenv-expand/config"})
"""Modules that read `.env` when they are loaded."""


def _un(use: Use) -> bool:
    """`ruby -run -e NAME -- WORDS`: small tools (`cp`, `rm`, `httpd`) of the library `un`."""
    values = use.parsed.values
    if use.base not in {"ruby", "jruby"} or all(value.only != "un" for _, value in values):
        return False
    for option, value in values:
        if option.role is not None and option.role.kind == "code":
            use.start([value, *use.parsed.operands])
    return True


def _module(use: Use) -> None:
    """`python -m MODULE`: those that send, run or show what their words name."""
    calls = use.look.table.languages["python-modules"].calls
    for word in use.parsed.operands:
        open_to_all(use, word.texts[0].text)
    for value in option_values(use, "module"):
        roles = calls.get(value.only or "", ())
        place = join(use.cwd, known(f"{(value.only or '').replace('.', '/')}.py"))
        text = use.look.kept.of(place)
        if text is not None:
            run_code(use, "python", text)
        if value.only is None:
            use.unknown("runs a module that can't be told before it runs")
        for kind in roles[:1]:
            _module_as(use, value, kind)
        if roles[1:] and use.parsed.operands and _UNPACKS.intersection(_texts(use)):
            play_as(use, roles[1], use.parsed.operands[-1])


def _module_as(use: Use, module: Value, kind: str) -> None:
    """What a module does by the kind that the table gives it."""
    if kind == "host":
        use.send(None, "serves files to the network")
    elif kind == "program":
        _as_program(use, [module, *_words_behind(use, module)])
    elif kind == "command":
        _run_by(use, module)
    elif kind in {"convert", "input"}:
        (_converted if kind == "convert" else _from_words_or_input)(use)
    else:
        for word in use.parsed.operands:
            play_as(use, kind, word)


def _behind_options(words: Sequence[Value]) -> Sequence[Value]:
    """`run --source=src FILE` of a module that runs another: its own verb doesn't count."""
    return words[1:] if words and words[0].only in _VERBS else words


def _run_by(use: Use, module: Value) -> None:
    """A profiler, tracer or debugger that runs a file, and keeps what it finds in another."""
    places = _put_by(_words_behind(use, module))
    words = [each for each in use.parsed.operands if each not in places]
    _as_program(use, [use.argv[0], *_behind_options(words)])
    for place in places:
        play_as(use, "report", place)


def _known_script(use: Use, words: Sequence[Value]) -> None:
    """A script of a framework whose words the table knows (`python3 manage.py shell`)."""
    base = (words[0].only or "").rpartition("/")[2]
    command = use.look.table.find(base) if base else None
    if command is not None and "as-script" in command.tags:
        _as_program(use, [known(base), *words[1:]])


def _words_behind(use: Use, module: Value) -> Sequence[Value]:
    """All words behind the module's name, its options too."""
    at = next((at for at, word in enumerate(use.argv) if word is module), None)
    return use.parsed.operands if at is None else use.argv[at + 1 :]


def _put_by(words: Sequence[Value]) -> list[Value]:
    """What a profiler or tracer is told to write: `-o FILE`, `-C DIR`, `--outfile=FILE`."""
    found = [
        cut(word, word.texts[0].text.index("=") + 1)
        for word in words
        if _PUT_BY.match(word.texts[0].text) and "=" in word.texts[0].text
    ]
    return found + [value for word, value in pairwise(words) if _PUT_BY.fullmatch(word.only or "")]


def _converted(use: Use) -> None:
    """`[OPTIONS] IN [OUT]`: with two files, the last one is written."""
    words = [each for each in use.parsed.operands if not _NO_FILE.match(each.texts[0].text)]
    for word in words:
        play_as(use, "read", word)
    if len(words) > 1:
        play_as(use, "report", words[-1])


def _from_words_or_input(use: Use) -> None:
    """Code in the words of a module (`timeit CODE…`), or from its input (`code`)."""
    for word in use.parsed.operands:
        run_code(use, "python", word)
    stdin = use.invocation.stdin
    if not use.parsed.operands and stdin is not None:
        if not stdin.text.known:
            use.unknown(_fed(stdin.sources))
        if any(each.text.strip(HOLE) for each in stdin.text.texts):
            run_code(use, "python", stdin.text)


def _as_program(use: Use, words: Sequence[Value]) -> None:
    """A module that is also a program of its own: it does the same, and is run by its module."""
    for each in use.look.gathered(lambda: use.start(words)):
        if each.act is not Act.EXECUTE:
            use.look.add(each)


def _texts(use: Use) -> set[str]:
    return {each.texts[0].text for each in use.argv}
