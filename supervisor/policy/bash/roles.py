"""What a word means by its role: the one place where roles become effects."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from supervisor.policy.bash import files, git_words, listed, listening, network, transfers
from supervisor.policy.bash.code import run_code
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.files import is_stream
from supervisor.policy.bash.literals import A_SHELL
from supervisor.policy.bash.options import cut
from supervisor.policy.bash.places import below, join, looks_like_path
from supervisor.policy.bash.table import Role
from supervisor.policy.bash.use import IN_DOUBT, PUT, RUN, Use, substituted
from supervisor.policy.bash.value import HOLE, Text, Value, known

Handler = Callable[[Use, Value], None]

_MOST_JOINED: Final = 64
_LONGEST_DOUBT: Final = 512
_SIGNS: Final = frozenset("=@,:#")
_SIGNS_IN_REPORTS: Final = frozenset("=,:")
_PARTS: Final = re.compile(r"[=@,:#]+")
_IN_REPORTS: Final = re.compile(r"[=,:]+")
_ADDRESS: Final = re.compile(r"\b(?!file:)[A-Za-z][\w+.-]*://[^\s,]*")
_METHOD: Final = re.compile(r"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|QUERY) +")
"""What a request begins with (`GET http://…`)."""
_SHELL: Final = re.compile(A_SHELL)
_RUN_TESTS: Final = frozenset(
    """npm pnpm yarn bun deno pytest py.test go cargo jest vitest mocha ava rspec phpunit ctest
    playwright cypress mvn mvnw gradle gradlew dotnet mix rake""".split()  # noqa: SIM905
)
_SUBSTITUTION: Final = re.compile(
    r"(?:flags=\w+;)?s?(?P<mark>[^\w\s])(?:(?!(?P=mark)).)*(?P=mark)(?P<put>(?:(?!(?P=mark)).)*)"
)
"""`s,FIND,PUT,`: what is put in front of names, or in their place."""
_FETCHED: Final = re.compile(r"(?!file:)[A-Za-z][\w+.-]*://|(?:npm|jsr):")
"""A script that lies on another machine (`deno run https://…`), or in a registry."""
_TYPED: Final = re.compile(r"\\[nr]|\^M|\\015|\r")


def play(use: Use, role: Role, value: Value) -> None:
    """What a word of this role means for the command."""
    handler = HANDLERS.get(role.kind)
    if handler is not None:
        handler(use, value)
    elif role.kind == "code":
        run_code(use, role.detail, value)


def play_as(use: Use, kind: str, value: Value, detail: str = "") -> None:
    """The same, for readers of little languages."""
    play(use, Role(kind, detail), value)


def option_values(use: Use, kind: str) -> list[Value]:
    """The values of options with a role of this kind."""
    return [
        value for option, value in use.parsed.values if option.role and option.role.kind == kind
    ]


def joined(words: Iterable[Value]) -> Value:
    """The words with blanks between them, as `ssh` or `watch` hand them on."""
    texts = [""]
    from_data = False
    for number, word in enumerate(words):
        from_data = from_data or word.from_data
        glue = " " if number else ""
        texts = [f"{start}{glue}{each.text}" for start in texts for each in word.texts]
        texts = texts[:_MOST_JOINED]
    return Value(known(*texts).texts, from_data)


def _doubt(use: Use, value: Value) -> None:
    for each in value.texts:
        text = each.text.removeprefix("@")
        listening.open_to_all(use, text)
        if looks_like_path(text.partition("::")[0]):
            target = Value((each,)) if text == each.text else known(text)
            use.emit(Act.READ, IN_DOUBT, target)
            if len(value.texts) > 1 or "::" in text:
                return
        if len(text) <= _LONGEST_DOUBT and not _SIGNS.isdisjoint(text):
            if " " not in text or _may_be_run(use, text):
                _doubt_parts(use, text, len(text), from_data=value.from_data)
                continue
            for line in text.splitlines():
                said = _METHOD.sub("", line.lstrip())
                first = said.partition(" ")[0]
                _doubt_parts(use, said, len(first), from_data=value.from_data)


def _may_be_run(use: Use, text: str) -> bool:
    """Whether words in one may be an order that an unknown program runs: `pm2 start 'curl …'`.

    Not for scripts of one's own and what runs tests: to them it is a sentence, as in
    `check.py 'git show HEAD:.env'` and `npm test -- -t 'denies curl …'`.
    """
    if any(_SHELL.fullmatch(each.texts[0].text) for each in use.argv[1:]):
        return True
    own = use.command.reader == "interpreter" or "/" in use.program or use.base in _RUN_TESTS
    first = text.split(maxsplit=1)[0].rpartition("=")[2]
    return not own and use.look.table.find(first) is not None


def _doubt_parts(use: Use, text: str, end: int, *, from_data: bool) -> None:
    """Files and addresses in a word with signs, as in `out=FILE`, `@FILE`, `HEAD:FILE`.

    Those count that begin before its `end`: what comes behind a blank is said in a sentence.
    """
    if "://" in text:
        for found in _ADDRESS.finditer(text):
            if found.start() <= end:
                use.send(Value(known(found[0]).texts, from_data), "may reach an address")
        text = _ADDRESS.sub("", text)
    at = 0
    for sign in (*_PARTS.finditer(text), None):
        piece = text[at : sign.start() if sign else None]
        if at <= end and looks_like_path(piece):
            use.emit(Act.READ, IN_DOUBT, known(piece))
        at = sign.end() if sign else at


def _either(use: Use, value: Value) -> None:
    _doubt(use, value)
    for each in value.texts:
        text = each.text.removeprefix("@")
        if len(text) <= _LONGEST_DOUBT and " " not in text:
            for piece in (text, *_PARTS.split(_ADDRESS.sub("", text))):
                if looks_like_path(piece) and not piece.startswith("/dev/"):
                    use.emit(Act.WRITE, IN_DOUBT, known(piece))


def _renames(use: Use, value: Value) -> None:
    for each in value.texts:
        found = _SUBSTITUTION.match(each.text)
        if found and (found["put"].strip("/&.") or found["put"].startswith("/")):
            _fill(use, known(found["put"].rstrip("/&") or ("/" if found["put"] else ".")))


def _fill(use: Use, value: Value) -> None:
    use.emit(Act.WRITE, IN_DOUBT, value, recursive=True)


def _report(use: Use, value: Value) -> None:
    if is_stream(value):
        return
    _put(use, value)
    for each in value.texts:
        if len(each.text) <= _LONGEST_DOUBT and not _SIGNS_IN_REPORTS.isdisjoint(each.text):
            for piece in _IN_REPORTS.split(_ADDRESS.sub("", each.text)):
                if looks_like_path(piece):
                    _put(use, known(piece))


def _put(use: Use, place: Value) -> None:
    """It is the file itself, or a folder that gets a file."""
    use.emit(Act.WRITE, PUT, place)
    use.emit(Act.WRITE, PUT, below(place, "file"))


def _unpacked(use: Use, value: Value) -> None:
    files.edit(use, value)
    stems = [each.text.rpartition(".")[0] for each in value.texts]
    for stem in dict.fromkeys(stems):
        if stem.rpartition("/")[2]:
            use.emit(Act.WRITE, IN_DOUBT, known(stem))


def _cd(use: Use, value: Value) -> None:
    use.emit(Act.LIST, "is made the working folder", value)
    use.cwd = join(use.cwd, value)


def _only(use: Use, value: Value) -> None:
    text = value.only
    if text and not text.startswith("!"):
        use.only = (*use.only, text.rpartition("/")[2] or text)


def _assign(use: Use, value: Value) -> None:
    for each in value.texts:
        name, equals, text = each.text.partition("=")
        if equals:
            use.environment = (*use.environment, (name, Value(known(text).texts, value.from_data)))


def _shell(use: Use, value: Value) -> None:
    use.script(value)


def _program(use: Use, value: Value) -> None:
    text = value.texts[0].text
    if "/" not in text and looks_like_path(text):  # one with a slash is looked at as it is started
        use.emit(Act.READ, IN_DOUBT, value)
    use.start([value])


def _source(use: Use, value: Value) -> None:
    if use.invocation.builtin and is_stream(value):
        return
    files.read(use, value)
    given = substituted(use, value) or (use.invocation.stdin if is_stream(value) else None)
    language = _language_of(use)
    text = use.look.kept.of(join(use.cwd, value))
    if text is None and given is not None and not use.invocation.builtin:
        text = given.text
    if text is None or not text.known:
        use.unknown("takes orders from a file that isn't read here")
    if text is None or not any(each.text.strip(HOLE) for each in text.texts):
        return
    if language:
        run_code(use, language, text)
    elif use.invocation.builtin or use.base in _SHELLS or use.base in _LATER:
        use.look.script(text, use.within(()))


_LATER: Final = frozenset({"at", "batch"})
_SHELLS: Final = frozenset(
    {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "fish", "yash", "nu", "xonsh",
     "elvish"}
)  # fmt: skip


def _language_of(use: Use) -> str:
    """The language that a program's own files of orders are in."""
    command = use.look.table.find(use.base)
    tags = use.tags | (command.tags if command is not None else frozenset())
    return next((tag[3:] for tag in tags if tag.startswith("in:")), "")


def _script(use: Use, value: Value) -> None:
    if is_stream(value):
        return
    if not value.known:
        use.unknown("runs a file that can't be told before it runs")
    if any(_FETCHED.match(each.text) for each in value.texts):
        use.unknown("runs code that is fetched")
        network.url(use, value)
        return
    use.emit(Act.READ, RUN, value)


def _package(use: Use, value: Value) -> None:
    """A package of go's; with a version behind `@` it is fetched."""
    _doubt(use, value)
    if any("@" in each.text[1:] for each in value.texts):
        words = tuple(each.text for each in value.texts)
        use.send(None, "fetches packages", words if len(words) == 1 else ())


def _page(use: Use, value: Value) -> None:
    text = value.texts[0].text
    if "://" not in text and looks_like_path(text):
        use.emit(Act.READ, IN_DOUBT, value)
    if text.startswith(("/", "./", "../", "~", "file:")) or "://" in text or HOLE in text:
        network.url(use, value)


def _upload(use: Use, value: Value) -> None:
    for each in value.texts:
        for piece in each.text.strip("{}").split(","):
            files.read(use, known(piece) if piece != each.text else Value((each,)))


def _items(use: Use, value: Value) -> None:
    """A list of files, each of which is read, shown or written as the command's operands are."""
    from supervisor.policy.bash.feeders import fed_items  # noqa: PLC0415 - it searches by our roles

    files.read(use, value)
    found = listed.listed_in(use, value)
    if found is None:
        found = fed_items(use) if is_stream(value) else [Value((Text(HOLE, many=True),))]
    kind = use.command.operands.middle
    role = kind if kind is not None and kind.kind in _LISTED else _READ
    for each in found:
        play(use, role, each)


def _member(use: Use, value: Value) -> None:
    if value.texts[0].text[:1] == "@":
        _items(use, cut(value, 1))
    else:
        files.tree(use, value)


def responses(use: Use) -> None:
    """`@FILE` among the words of a compiler: further words, options too, that stand in a file."""
    for word in (*use.parsed.operands, *use.parsed.doubts):
        if word.texts[0].text[:1] == "@" and len(word.texts[0].text) > 1:
            files.read(use, cut(word, 1))
            use.unknown("takes options from a file that isn't read here")


_LISTED: Final = frozenset({"list", "write", "delete", "edit", "tree"})
"""Roles of operands that names in a list have as well."""
_READ: Final = Role("read")


def _typed(use: Use, value: Value) -> None:
    use.script(Value(known(*(_TYPED.sub("\n", each.text) for each in value.texts)).texts))


def _pid(use: Use, value: Value) -> None:
    every = use.base in {"pkill", "skill"} or any(each.only in _BY_PATTERN for each in use.argv)
    all_of_them = every and any(_ANY_NAME.fullmatch(each.text) for each in value.texts)
    reason = "signals all processes" if all_of_them else "is signalled"
    use.emit(Act.SIGNAL, reason, value, severe=all_of_them)


_BY_PATTERN: Final = frozenset({"-r", "--regexp"})
_ANY_NAME: Final = re.compile(r"\^?\.[*+]?\$?|\^|\.\{1,\}|\[a-z\][*+]?")
"""What fits the name of any process."""


HANDLERS: Final[Mapping[str, Handler]] = {
    "addresses": listed.addresses,
    "assign": _assign,
    "bind": listening.bind,
    "cd": _cd,
    "cookies": network.cookies,
    "data": network.data,
    "data-file": network.data_file,
    "delete": files.delete,
    "dest": files.lone_destination,
    "disk": files.disk,
    "display": network.display,
    "doubt": _doubt,
    "download": transfers.download,
    "edit": files.edit,
    "either": _either,
    "fill": _fill,
    "field": network.field_of,
    "field-file": network.field_file,
    "form": network.form,
    "from": network.source,
    "gone": network.gone,
    "host": network.host,
    "into": files.into,
    "items": _items,
    "line": _shell,
    "link": files.link,
    "list": files.listed,
    "member": _member,
    "mode": files.mode,
    "move": files.move,
    "only": _only,
    "package": _package,
    "page": _page,
    "pathspec": git_words.pathspec,
    "pid": _pid,
    "program": _program,
    "read": files.read,
    "refspec": git_words.refspec,
    "renames": _renames,
    "replaced": git_words.replaced,
    "report": _report,
    "repository": network.repository,
    "restored": git_words.restored,
    "reverse": network.reverse,
    "revision": git_words.revision,
    "route": network.route,
    "script": _script,
    "setting": git_words.settings,
    "shell": _shell,
    "site": listed.site,
    "socket": network.socket,
    "source": _source,
    "suid": files.set_user_id,
    "temporary": files.temporary,
    "template": network.template,
    "to": files.lone_destination,
    "tree": files.tree,
    "tty": _typed,
    "unpacked": _unpacked,
    "upload": _upload,
    "url": listed.url,
    "wipe": files.wipe,
    "write": files.write,
}
"""The others are only told apart by readers (`mount`, `items`), or mean nothing by themselves."""
