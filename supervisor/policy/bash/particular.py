"""Programs that mean something by what options and operands alone don't tell."""

import re
from typing import Final

from supervisor.policy.bash.apply import apply
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.files import arrive, is_stream
from supervisor.policy.bash.places import flat, join
from supervisor.policy.bash.roles import option_values, play_as
from supervisor.policy.bash.use import IN_DOUBT, UNTRACKED, Use, substituted
from supervisor.policy.bash.value import HOLE, Value, known

_MODE: Final = re.compile(r"-[rwxXstugo,+=-]+")
_SECRET: Final = re.compile(r"key|token|secret|passw|credential|auth|cookie|private", re.IGNORECASE)
_ALL: Final = "signals all processes"
_SIGNAL: Final = re.compile(r"-(\d+|[A-Za-z][A-Za-z0-9+-]*)")


def escalate(use: Use) -> None:
    """`sudo` and its kin: what follows runs with another user's rights.

    `sudo -h` alone is a call for help; in front of a command, `-h` takes the name of a host.
    """
    if "harmless" in use.tags and not use.parsed.operands:
        return
    use.emit(Act.ESCALATE, "runs with another user's rights")
    apply(use)


def kill(use: Use) -> None:
    """`kill [-s SIGNAL | -SIGNAL] PID…`; the process -1 is all of them."""
    words = list(use.argv[1:])
    texts = [each.texts[0].text for each in words]
    if not texts or texts[0] in {"-l", "-L", "--list", "--table", "--help", "--version"}:
        return
    if texts[0] in {"-s", "-n", "--signal"}:
        signal, words = (texts[1] if len(texts) > 1 else ""), words[2:]
    elif texts[0].startswith("--signal="):
        signal, words = texts[0].partition("=")[2], words[1:]
    elif _SIGNAL.fullmatch(texts[0]) and not (texts[0] == "-1" and len(texts) == 1):
        signal, words = texts[0][1:], words[1:]
    else:
        signal = ""
    if signal in {"0", "l", "L"}:
        return
    for each in words:
        if each.only == "--":
            continue
        every = any(re.fullmatch(r"-0*1", text.text) for text in each.texts)
        use.emit(Act.SIGNAL, _ALL if every else "is signalled", each, severe=every)


def printenv(use: Use) -> None:
    """`printenv [NAME…]`."""
    names = [each.texts[0].text for each in use.parsed.operands]
    if not names or any(_SECRET.search(each) or HOLE in each for each in names):
        use.emit(Act.REVEAL, "prints the environment, which may hold secrets")


def ps(use: Use) -> None:
    """`ps`: an `e` among letters without a dash shows each process's environment."""
    apply(use)
    words = [text.text for each in use.parsed.operands for text in each.texts]
    if "environment" in use.tags or any(each.isalpha() and "e" in each for each in words):
        use.emit(Act.REVEAL, "prints the environment of processes, which may hold secrets")


def fetched(use: Use) -> None:
    """`go run MODULE@VERSION`: code that is fetched."""
    for each in use.parsed.operands[:1]:
        if any("@" in text.text and "/" in text.text for text in each.texts):
            use.send(None, "fetches packages", words=(each.texts[0].text,))
            if use.argv[use.at - 1].only == "run":
                use.unknown("runs code that is fetched")
    apply(use)


def chmod(use: Use) -> None:
    """`chmod MODE FILE…`, where a mode may look like an option (`-x`)."""
    given = [
        each for each in use.argv[use.at :]
        if _MODE.fullmatch(each.texts[0].text)
        and each.texts[0].text != "--"
        and not _only_options(each.texts[0].text)
    ]  # fmt: skip
    operands = use.parsed.operands
    if not given and "reference" not in use.tags and operands:
        play_as(use, "suid", operands[0])
        operands = operands[1:]
    for option, value in use.parsed.values:
        if option.role is not None:
            play_as(use, option.role.kind, value)
    for each in operands:
        play_as(use, "mode", each)


def _only_options(text: str) -> bool:
    return not set(text[1:]) - set("Rvfch")


def link(use: Use) -> None:
    """`ln [-s] TARGET… [NAME or FOLDER]`; a relative symbolic link is read from where it lies."""
    operands = use.parsed.operands
    into = option_values(use, "dest")
    targets = operands if into or len(operands) == 1 else operands[:-1]
    place = into[-1] if into else operands[-1] if len(operands) > 1 else known(".")
    if into:
        use.tags.add("into")
    for each in targets:
        use.emit(Act.LINK, "gets another name", each)
        if "symbolic" in use.tags and not each.texts[0].text.startswith(("/", "~")):
            folder = place.texts[0].text.rpartition("/")[0]
            if folder and HOLE not in folder:
                use.emit(Act.LINK, "gets another name", join(known(folder), each))
    arrive(use, "dest", place, targets)


_ASKS: Final = re.compile(r"\s*(select|with|explain|values|pragma\s+\w+\s*;?\s*$)", re.IGNORECASE)
_DOTS: Final = re.compile(
    r"\.(tables|schema|indexes|databases|headers|mode|help|dump|fullschema|dbinfo|show|width"
    r"|quit|exit|timer|print|bail|nullvalue|separator|stats|explain)\b"
)


def sqlite(use: Use) -> None:
    """`sqlite3 FILE [SQL]`, SQL or dot-commands from the input too."""
    for option, value in use.parsed.values:
        if option.role is not None:
            play_as(use, option.role.kind, value, option.role.detail)
    words = use.parsed.operands
    texts = [each for word in words[1:] for each in word.texts]
    stdin = use.invocation.stdin
    if not texts and stdin is not None:
        texts = list(stdin.text.texts)
    if words and words[0].only not in {":memory:", ""}:
        use.emit(Act.READ, "is read", words[0])
        looks = texts and all(_ASKS.match(each.text) or _DOTS.match(each.text) for each in texts)
        if not looks and "readonly" not in use.tags:
            use.emit(Act.WRITE, "is written", words[0])
    for each in texts:
        play_as(use, "code", Value((each,)), "sqlite")


_FILE_TESTS: Final = frozenset(f"-{each}" for each in "abcdefghkprstuwxGLNOS")


def test(use: Use) -> None:
    """`[ -f FILE ]`: tests show attributes, never content."""
    argv = use.argv
    for at, each in enumerate(argv[:-1]):
        if at and each.only in _FILE_TESTS:
            use.emit(Act.LIST, "is tested", argv[at + 1])
        elif each.only in {"-nt", "-ot", "-ef"}:
            use.emit(Act.LIST, "is tested", argv[at - 1])
            use.emit(Act.LIST, "is tested", argv[at + 1])


_PATCHED: Final = re.compile(r"^\+\+\+ ([^\t\n]+)", re.MULTILINE)


def patch(use: Use) -> None:
    """`patch`, `git apply`: writes the files that the patch names, here or below a folder."""
    apply(use)
    folders = option_values(use, "fill")
    place = folders[-1] if folders else known(".")
    stdin = use.invocation.stdin
    play_as(use, "fill", place)
    if "looks" not in use.tags and (stdin is None or not stdin.text.known):
        # Which files it changes stands in a patch that isn't seen.
        use.emit(Act.WRITE, "is changed by a patch", place, recursive=True)
    for text in stdin.text.texts if stdin is not None else ():
        for found in _PATCHED.finditer(text.text):
            name = found[1].strip()
            for each in (name, name.partition("/")[2]):
                if each and each != "dev/null" and name != "/dev/null":
                    place = known(each)
                    use.emit(Act.WRITE, IN_DOUBT, join(folders[-1], place) if folders else place)


_CMAKE_TOOLS: Final = {
    "copy": "cp",
    "copy_if_different": "cp",
    "copy_directory": "cp -r",
    "rm": "rm",
    "remove": "rm",
    "remove_directory": "rm -r",
    "make_directory": "mkdir",
    "rename": "mv",
    "touch": "touch",
    "cat": "cat",
    "create_symlink": "ln -s",
    "tar": "tar",
    "env": "env",
    "time": "time",
}


_CMAKE_PROGRAMS: Final = re.compile(
    r"(?:-D)?CMAKE_\w*(?:COMPILER|LAUNCHER|LINKER|PROGRAM|EMULATOR|_AR)(?::\w+)?=(?=[^=]*[/~])"
)
"""A setting that names a program by its path, not by a name of the machine's own."""
_SYSTEM: Final = ("/usr/", "/bin/", "/opt/")


def cmake(use: Use) -> None:
    """`cmake -E TOOL …`: small tools under one name."""
    texts = [each.texts[0].text for each in use.argv]
    if "-E" not in texts[:2]:
        apply(use)
        stdin = use.invocation.stdin
        scripts = option_values(use, "script")
        if stdin is not None and any(is_stream(each) for each in scripts):
            play_as(use, "code", stdin.text, "cmake")
        for each in scripts:
            given = substituted(use, each)
            kept = use.look.kept.of(join(use.cwd, each))
            for code in filter(None, (given.text if given else None, kept)):
                play_as(use, "code", code, "cmake")
        for text in texts:
            found = _CMAKE_PROGRAMS.match(text)
            if found and not text[found.end() :].startswith(_SYSTEM):
                use.start([known(text[found.end() :])])
        return
    tool = _CMAKE_TOOLS.get(texts[2]) if len(texts) > 2 else None  # noqa: PLR2004 - cmake -E TOOL
    if tool is not None:
        use.start([*(known(each) for each in tool.split()), *use.argv[3:]])


def start_stop(use: Use) -> None:
    """`start-stop-daemon -S -x PROGRAM -- WORDS…`: starts a program, or signals what runs."""
    programs = option_values(use, "program")
    if "stops" in use.tags or not programs:
        use.emit(Act.SYSTEM, "starts or stops a service")
        return
    use.parsed.values = [
        each for each in use.parsed.values if each[0].role is None or each[0].role.kind != "program"
    ]
    use.parsed.operands.insert(0, programs[-1])
    apply(use)


_PARTED_SHOWS: Final = frozenset(
    """print free all list devices unit compact mib mb gib gb kib kb tib tb s b""".split()  # noqa: SIM905
)


def parted(use: Use) -> None:
    """`parted DEVICE COMMAND…`: `print` shows the partitions, with `unit` as they are wanted."""
    device, *words = use.parsed.operands or [known("")]
    said = {(each.only or HOLE).lower() for each in words}
    if "print" in said and said <= _PARTED_SHOWS:
        use.emit(Act.LIST, "is listed", device)
    else:
        apply(use)


_HERE: Final = frozenset({".", "./"})


def git_clean(use: Use) -> None:
    """`git clean`, `git stash -u`: what isn't tracked goes, where the options say.

    In the folder of the call it may lose work; above it, in home or in the system it is a removal.
    The folder by its name (`git clean -fd .`) is what git takes where no path is named.
    """
    use.parsed.operands = [each for each in use.parsed.operands if each.only not in _HERE]
    apply(use)
    if "dry" in use.tags or not use.tags & {"untracked", "recursive"}:
        return
    moved = _work_trees(use)
    for text in join(use.cwd, moved[-1]).texts if moved else use.cwd.texts:
        place, home, start = flat(text.text), use.look.home, use.look.start
        above = f"{place.rstrip('/')}/"
        aside = not f"{start}/".startswith(above) and not place.startswith(f"{start}/")
        if f"{home}/".startswith(above) or aside:
            use.implied = not moved
            use.emit(Act.DELETE, UNTRACKED, known(place), recursive=True)
            use.implied = False


def _work_trees(use: Use) -> list[Value]:
    """The folders that are named as git's working tree, the one that counts last."""
    named = [text for name, text in use.invocation.environment if name == "GIT_WORK_TREE"]
    for option, value in use.parsed.values:
        if "placed" in option.tags:
            named.append(value)
        elif option.role is not None and option.role.kind == "setting":
            name, _, text = value.texts[0].text.partition("=")
            if name.lower() == "core.worktree" and text:
                named.insert(0, known(text))
    return named
