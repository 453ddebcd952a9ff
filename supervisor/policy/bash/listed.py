"""Files of names and addresses, a line each, and words that name one address in a loose form."""

import re
from typing import Final

from supervisor.policy.bash import files, network
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.files import is_stream
from supervisor.policy.bash.options import cut
from supervisor.policy.bash.places import join, looks_like_path
from supervisor.policy.bash.use import IN_DOUBT, Use, substituted
from supervisor.policy.bash.value import HOLE, Value, known

_MOST_LISTED: Final = 512


def listed_in(use: Use, value: Value) -> list[Value] | None:
    """The names in a file of names, if it is the input or a `<(…)` that can be told."""
    text = _text_of(use, value)
    if text is None or not any(each.text.strip(HOLE) for each in text.texts):
        return None
    pieces = (piece for each in text.texts for piece in re.split(r"[\n\0]", each.text))
    return [known(each) for each in dict.fromkeys(pieces) if each][:_MOST_LISTED]


def _text_of(use: Use, value: Value) -> Value | None:
    """What is in the input, in a `<(…)`, or in a file that this call has written."""
    stdin = substituted(use, value)
    if stdin is None and is_stream(value):
        stdin = use.invocation.stdin
    if stdin is not None:
        return stdin.text
    return None if is_stream(value) else use.look.kept.of(join(use.cwd, value))


def addresses(use: Use, value: Value) -> None:
    """A file of addresses or hosts: those that it is known to hold, else any, by what it says."""
    if "://" in value.texts[0].text:
        network.url(use, value)
        listed = None
    else:
        files.read(use, value)
        listed = listed_in(use, value)
    for line in listed or (known(HOLE),):
        for word in line.texts[0].text.split():
            if "=" not in word.partition("://")[0] and not word.startswith("#"):
                use.send(Value(known(word).texts, from_data=True), "reaches what a file lists")


def url(use: Use, value: Value) -> None:
    """An address, or `@FILE` with some."""
    if value.texts[0].text.startswith("@"):
        addresses(use, cut(value, 1))
    else:
        network.url(use, value)


_HERE: Final = re.compile(r"[./~]|[^/]*\.(?:x?html?|xml|svg|txt|rst|adoc|pdf)\Z", re.IGNORECASE)
"""Pages that are files here, by how they begin or end: no domain ends so."""


def site(use: Use, value: Value) -> None:
    """An address that may lack its scheme (`example.org/x`), or a page here; `-` lists some."""
    text = value.texts[0].text
    name, _, rest = text.partition("/")
    if text == "-":
        addresses(use, value)
    elif "://" in text or HOLE in text or text[:5].lower() == "file:":
        network.url(use, value)
    elif _HERE.match(text):
        files.read(use, value)
    else:
        if looks_like_path(text):
            use.emit(Act.READ, IN_DOUBT, value)
        if "." in name or ":" in name or "." not in rest:
            use.send(value)
