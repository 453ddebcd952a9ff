"""Programs that take their orders from their input: editors, database shells, `at`."""

import re
from typing import Final

from supervisor.policy.bash.apply import apply
from supervisor.policy.bash.code import run_code
from supervisor.policy.bash.containers import scp
from supervisor.policy.bash.places import join
from supervisor.policy.bash.roles import joined, option_values, play_as
from supervisor.policy.bash.use import Use, substituted
from supervisor.policy.bash.value import HOLE, known

_TAKE_ORDERS: Final = frozenset({"ed", "red", "ex", "vim", "vi", "nvim"})
_INCLUDES: Final = re.compile(
    r"#\s*(?:include(?:_next)?|embed)\s*[\"<]([^\">\n]+)[\">]"
    r"|\b(?:s?include|undivert)\(\s*[`'\"]*([^`'\",)\n]+)"
    r"|\.(?:incbin|include)\s+\"([^\"\n]+)\""
    r"|\b(?:file\w*|templatefile)\(\s*\"([^\"\n]+)\""
    r"|\b(?:document|unparsed-text|doc)\(\s*\\?[\"']([^\"'\\\n]+)"
    r"|\b(?:SYSTEM|PUBLIC\s+\S+)\s+[\"']([^\"'\n]+)[\"']"
    r"|\bhref=[\"']([^\"'\n]+)[\"']"
    r"|^\.\s*(?:so|mso|cf|psbb)\s+(\S+)"
    r"|\binclude::([^\[\n]+)\["
    r"|^\.\.\s+(?:include|literalinclude)::\s*(\S+)|^\s+:file:\s*(\S+)",
    re.MULTILINE,
)
_RUNS: Final = re.compile(
    r"\be?syscmd\(\s*[`'\"]*([^`')\n]+)|^\.\s*(?:sy|pso)\s+(.+)$|^\s*command\s*=\s*(.+)$",
    re.MULTILINE,
)
_FILE_ADDRESS: Final = re.compile(r"\Afile:(?://(?:localhost)?(?=/))?", re.IGNORECASE)
_MOST_LINES: Final = 256
_WHEN: Final = re.compile(r"\s*(?:@\w+|(?:\S+\s+){4}\S+)\s+(.*)")
"""When a line of a crontab runs, and what."""


def editor(use: Use) -> None:
    """`ed`, `ex`, `vim -es`."""
    apply(use)
    stdin = use.invocation.stdin
    if stdin is not None and use.base in _TAKE_ORDERS:
        script = any(each.only == "-l" for each in use.argv)
        run_code(use, "lua" if script else "ed", stdin.text)


_OVER_SSH: Final = frozenset({"sftp", "psftp"})


def dialogue(use: Use) -> None:
    """Orders in the language that a tag names (`in:psql`), unless an option holds them."""
    if use.base in _OVER_SSH:
        scp(use)
    else:
        apply(use)
    stdin = use.invocation.stdin
    language = next((tag[3:] for tag in use.tags if tag.startswith("in:")), "expect")
    if stdin is not None and not option_values(use, "code"):
        run_code(use, language, stdin.text)


def tftp(use: Use) -> None:
    """`tftp HOST -c get THERE HERE`: the words behind the host are an order."""
    dialogue(use)
    words = use.parsed.operands[1:]
    if "orders" in use.tags and words:
        run_code(use, "ftp", joined(words))


def later(use: Use) -> None:
    """`at TIME`: runs what its input says."""
    if "asks" in use.tags:
        return
    apply(use)
    if use.invocation.stdin is not None and not option_values(use, "source"):
        use.script(use.invocation.stdin.text)


def git_batch(use: Use) -> None:
    """`git cat-file --batch`: the objects that its input names are shown."""
    apply(use)
    stdin = use.invocation.stdin
    if "batch" in use.tags and stdin is not None:
        for each in stdin.text.texts:
            for line in each.text.splitlines()[:_MOST_LINES]:
                words = line.split()
                if words:
                    play_as(use, "revision", known(words[-1]))


def crontab(use: Use) -> None:
    """`crontab -`, `crontab FILE`: the lines run later, as far as the call says what they are."""
    apply(use)
    if use.tags & {"list", "remove", "edit"}:
        return
    stdin = use.invocation.stdin
    texts = [] if stdin is None else [stdin.text]
    for word in use.parsed.operands:
        given = substituted(use, word)
        kept = use.look.kept.of(join(use.cwd, word)) if given is None else given.text
        texts += [] if kept is None else [kept]
    for each in (one for text in texts for one in text.texts):
        for line in each.text.splitlines()[:_MOST_LINES]:
            found = _WHEN.match(line.lstrip(HOLE))  # what came before may be the lines there are
            if found:
                use.script(known(found[1]), stdin=False)


def quoting(use: Use) -> None:
    """Programs whose input names files to include, or text to run (`gcc -E -`, `m4`)."""
    apply(use)
    stdin = use.invocation.stdin
    if stdin is None:
        return
    for each in stdin.text.texts:
        for found in _INCLUDES.finditer(each.text):
            named = next(name for name in found.groups() if name)
            play_as(use, "read", known(_FILE_ADDRESS.sub("", named)))
        for found in _RUNS.finditer(each.text):
            use.script(known(next(one for one in found.groups() if one)), stdin=False)
