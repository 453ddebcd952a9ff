"""Commands that run the command in their words: `env`, `xargs`, `parallel`."""

import re
import shlex
from dataclasses import replace
from typing import Final

from supervisor.policy.bash.apply import apply
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.feeders import fed_items
from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.listed import listed_in
from supervisor.policy.bash.options import cut
from supervisor.policy.bash.places import Found, escaped, spread
from supervisor.policy.bash.roles import joined, option_values, play_as
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

MOST_ITEMS: Final = 512
_MOST_GROUPS: Final = 24
_ITEM: Final = Value((Text(HOLE, many=True),), from_data=True)
_BOUND: Final = re.compile(
    r"\b(?:become|execute(?:-silent|-multi)?|reload(?:-sync)?|(?:bg-)?transform[\w-]*"
    r"|(?:change-)?preview)(?::(?P<rest>.+)|(?P<open>[^\w\s:,+-])(?P<inner>.+?)[^\w\s](?=[+,]|\Z))",
    re.DOTALL,
)
"""An action of fzf that runs a text: all behind a colon, or what stands between two signs."""
_SPLITS: Final = re.compile(r"-[0iv]*S=?|--spl[a-z-]*=?")
_FIELDS: Final = ("{}", "{+}", "{1}", "{2}", "{-1}", "{r}")
_PRINTS: Final = "prints the environment, which may hold secrets"


def env(use: Use) -> None:
    """`env [-i] [-u NAME] [-C DIR] [-S TEXT] [NAME=VALUE]… [COMMAND]`."""
    for value in option_values(use, "cd"):
        play_as(use, "cd", value)
    words = _split_first(use)
    if words is not None:
        use.start(words)
        return
    words = list(use.parsed.operands)
    while words and words[0].texts[0].text.startswith("-") and len(words[0].texts[0].text) > 1:
        words = words[1:]
    at = 0
    while at < len(words) and "=" in words[at].texts[0].text:
        play_as(use, "assign", words[at])
        at += 1
    words = words[at:]
    if words:
        use.start(words)
    elif "clean" not in use.tags:
        use.emit(Act.REVEAL, _PRINTS)


def served(use: Use) -> None:
    """A program whose input and output are the network (`tcpserver HOST PORT COMMAND`)."""
    for option, value in use.parsed.values:
        if option.role is not None:
            play_as(use, option.role.kind, value)
    front = len(use.command.operands.front)
    words = use.parsed.operands[front:]
    use.send(None, "serves to the network")
    if words:
        tied = replace(use.invocation, feeds=("nc",), stdin=Stdin(_ITEM, ("nc",)))
        use.invocation = tied
        use.start(words)


def _split_first(use: Use) -> list[Value] | None:
    """The words of `env -S TEXT WORD…` as they are then read: those of the text come first."""
    for at, word in enumerate(use.argv[1:], 1):
        text = word.texts[0].text
        found = _SPLITS.match(text)
        if found is not None:
            behind = list(use.argv[at + 1 :])
            if found.end() < len(text):
                given = cut(word, found.end())
            elif behind:
                given = behind.pop(0)
            else:
                return None
            return [known("env"), *_split(given), *behind]
        if text[:1] != "-" and "=" not in text and use.argv[at - 1].texts[0].text[:1] != "-":
            return None
    return None


def _split(value: Value) -> list[Value]:
    text = value.only
    if text is None:
        return [Value((Text(HOLE, many=True),), value.from_data)]
    try:
        return [known(each) for each in shlex.split(text)]
    except ValueError:
        return [Value((Text(HOLE, many=True),))]


def _endless(use: Use) -> None:
    """`yes | xargs -P0 …`: as many processes at once as there are lines without end."""
    stdin = use.invocation.stdin
    at_once = [value.only for option, value in use.parsed.values if "at-once" in option.tags]
    if stdin is not None and "0" in at_once and {*stdin.sources} == {"yes"}:
        use.emit(Act.EXHAUST, "starts a process for each line of an input without end")


def xargs(use: Use) -> None:
    """Puts items from its input behind a command, or in place of a word (`-I`)."""
    _endless(use)
    for value in option_values(use, "items"):
        play_as(use, "read", value)
    groups = _groups(use)
    command = list(use.parsed.operands) or [known("echo")]
    replaced = option_values(use, "replace")
    marker = replaced[-1].only if replaced else ("{}" if "replace" in use.tags else None)
    if marker:
        for items in groups:
            for item in items[:MOST_ITEMS]:
                use.start([_filled(word, marker, item) for word in command], stdin=False)
    else:
        for items in groups:
            use.start([*command, *items[:MOST_ITEMS]], stdin=False)


def _groups(use: Use) -> list[list[Value]]:
    """The items, once for each text that the input may be."""
    stdin = use.invocation.stdin
    files = option_values(use, "items")
    if files:
        listed = [each for value in files for each in listed_in(use, value) or (_ITEM,)]
        return [listed]
    if stdin is None:
        return [[_ITEM]]
    return [_group(each, use) for each in stdin.text.texts[:_MOST_GROUPS]]


def _group(text: Text, use: Use) -> list[Value]:
    if text.text and not text.text.strip(HOLE):
        return fed_items(use)
    if text.pattern is None:
        return _items(text.text, use)
    texts, patterns = text.text.split(), text.pattern.split()
    if len(texts) != len(patterns):
        return [Value((text,))]
    return [Value((Text(*each),)) for each in zip(texts, patterns, strict=True)]


def _items(text: str, use: Use) -> list[Value]:
    if "null" in use.tags:
        # A NUL that a command prints reads like a hole: each side of it is an item of its own.
        items = [known(each) for each in text.split(HOLE) if each]
        return [*items, _ITEM] if HOLE in text.strip(HOLE) or not items else items
    if "delimiter" in use.tags or "replace" in use.tags or option_values(use, "replace"):
        pieces = [each.strip(" \t") for each in text.split("\n")]
    else:
        try:
            pieces = shlex.split(text.replace("\n", " "))
        except ValueError:
            pieces = text.split()
    items = [known(each) if HOLE not in each else _ITEM for each in pieces if each]
    return items or ([_ITEM] if HOLE in text else [])


def _filled(word: Value, marker: str, item: Value) -> Value:
    if word.only == marker:
        return item
    item = spread(item)
    texts: list[Text] = []
    for each in word.texts:
        if marker not in each.text:
            texts.append(each)
        elif each.text == marker:
            texts.extend(item.texts)
        else:
            texts.extend(_put(each.text, marker, one) for one in item.texts)
    return Value(tuple(texts), word.from_data or item.from_data)


def _put(text: str, marker: str, item: Text) -> Text:
    pattern = None
    if item.pattern is not None:
        pattern = item.pattern.join(escaped(each) for each in text.split(marker))
    return Text(text.replace(marker, item.text), pattern)


def listing(use: Use) -> None:
    """Programs that get the names of files to read from their input (`cpio -o`, `zip -@`)."""
    apply(use)
    if "lists" in use.tags:
        for group in _groups(use):
            for item in group[:MOST_ITEMS]:
                play_as(use, "read", item)


def parallel(use: Use) -> None:
    """`parallel COMMAND ::: ITEMS`: the words are joined and run by a shell for each item."""
    _endless(use)
    use.tags.add("delimiter")  # an item a line
    words = use.parsed.operands
    for value in option_values(use, "items"):
        play_as(use, "read", value)
    for kind in ("report", "cd"):
        for value in option_values(use, kind):
            play_as(use, kind, value)
    texts = [each.texts[0].text for each in words]
    ends = [at for at, text in enumerate(texts) if text.startswith(":::")]
    command = words[: ends[0]] if ends else words
    if ends:
        items = _listed_items(use, words, ends)
    else:
        items = [item for group in _groups(use) for item in group]
    line = joined(command)
    marked = any("{" in each.text for each in line.texts)
    for item in items[:MOST_ITEMS]:
        if isinstance(item, Found) and (found := _in_place(command, line, item)):
            use.start(found, stdin=False)
        elif not marked:
            use.script(joined([*command, _quoted(item) if command else item]))
            continue
        filled = line
        for marker in ("{}", "{.}", "{/}", "{//}", "{/.}", "{1}", "{2}", "{3}"):
            filled = _filled(filled, marker, spread(item))
        use.script(filled)


def _in_place(command: list[Value], line: Value, item: Value) -> list[Value] | None:
    """The words of a command with what a search finds in the place of `{}`, or behind them."""
    words = command if len(command) > 1 else _split(line)
    texts = [each.only or "" for each in words]
    if not words or any("{" in each and each != "{}" for each in texts):
        return None
    if "{}" not in texts:
        return [*words, item]
    return [item if each == "{}" else word for word, each in zip(words, texts, strict=True)]


def fzf(use: Use) -> None:
    """`fzf --preview TEXT --bind KEY:ACTION(TEXT)`: texts that a shell runs for items of the input.

    Whoever starts it chooses the item; any of them may be.
    """
    use.tags.add("delimiter")
    stdin = use.invocation.stdin
    items = [] if stdin is None else [item for group in _groups(use) for item in group]
    items = [each for each in items if isinstance(each, Found) or each.texts[0].text != HOLE]
    for option, value in use.parsed.values:
        kind = option.role.kind if option.role else "text"
        if kind == "bound":
            bound = [found for each in value.texts for found in _BOUND.finditer(each.text)]
            texts = [known(each["rest"] or each["inner"] or "") for each in bound]
        elif kind == "shell":
            texts = [value]
        else:
            play_as(use, kind, value)
            continue
        for text in texts:
            for item in items[:MOST_ITEMS] or [known("{}")]:
                filled = text
                for marker in _FIELDS:
                    filled = _filled(filled, marker, spread(item))
                use.script(filled)


def _quoted(item: Value) -> Value:
    """An item as it is put behind the command: quoted for the shell."""
    text = item.only
    return item if text is None else known(shlex.quote(text))


def _listed_items(use: Use, words: list[Value], ends: list[int]) -> list[Value]:
    """The items behind each `:::`; `::::` names files that hold them."""
    items: list[Value] = []
    for start, end in zip(ends, [*ends[1:], len(words)], strict=True):
        if words[start].texts[0].text.startswith("::::"):
            for value in words[start + 1 : end]:
                play_as(use, "read", value)
            items.append(_ITEM)
        else:
            items.extend(words[start + 1 : end])
    return items
