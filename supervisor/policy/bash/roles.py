"""What a word means by its role: the one place where roles become effects."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from supervisor.policy.bash import files, git_words, network
from supervisor.policy.bash.code import run_code
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.files import is_stream
from supervisor.policy.bash.places import join, looks_like_path
from supervisor.policy.bash.table import Role
from supervisor.policy.bash.use import IN_DOUBT, RUN, Use
from supervisor.policy.bash.value import Value, known

Handler = Callable[[Use, Value], None]

_MOST_JOINED: Final = 64


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
        if looks_like_path(text.partition("::")[0]):
            target = Value((each,)) if text == each.text else known(text)
            use.emit(Act.READ, IN_DOUBT, target)
            return


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
    use.start([value])


def _source(use: Use, value: Value) -> None:
    if use.invocation.builtin and is_stream(value):
        return
    files.read(use, value)
    text = use.look.kept.of(join(use.cwd, value)) if use.invocation.builtin else None
    if text is None or not text.known:
        use.unknown("takes orders from a file that isn't read here")
    if text is not None:
        use.look.script(text, use.within(()))


def _script(use: Use, value: Value) -> None:
    if is_stream(value):
        return
    if not value.known:
        use.unknown("runs a file that can't be told before it runs")
    use.emit(Act.READ, RUN, value)


def _pid(use: Use, value: Value) -> None:
    use.emit(Act.SIGNAL, "is signalled", value)


HANDLERS: Final[Mapping[str, Handler]] = {
    "assign": _assign,
    "cd": _cd,
    "data": network.data,
    "data-file": network.data_file,
    "delete": files.delete,
    "dest": files.lone_destination,
    "disk": files.disk,
    "doubt": _doubt,
    "edit": files.edit,
    "field": network.field_of,
    "field-file": network.field_file,
    "form": network.form,
    "from": network.source,
    "host": network.host,
    "into": files.into,
    "line": _shell,
    "link": files.link,
    "list": files.listed,
    "mode": files.mode,
    "move": files.move,
    "only": _only,
    "pathspec": git_words.pathspec,
    "pid": _pid,
    "program": _program,
    "read": files.read,
    "refspec": git_words.refspec,
    "repository": network.repository,
    "restored": git_words.restored,
    "reverse": network.reverse,
    "revision": git_words.revision,
    "script": _script,
    "setting": git_words.settings,
    "shell": _shell,
    "socket": network.socket,
    "source": _source,
    "suid": files.set_user_id,
    "to": files.lone_destination,
    "tree": files.tree,
    "tty": _shell,
    "url": network.url,
    "wipe": files.wipe,
    "write": files.write,
}
"""The others are only told apart by readers (`mount`, `items`), or mean nothing by themselves."""
