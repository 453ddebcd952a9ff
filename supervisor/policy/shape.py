"""The form of a policy file: its sections and their keys, each with its type and meaning.

The one description of it: the reader takes its known keys from here, and `json_schema` makes the
schema for editors out of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a section: the type of its value, what it means, and whether it must be there.

    Types are names of `SECTIONS`, or `text`, `id`, `version`, `flag`, `count`, `amount`, `answer`,
    `act`, `kind`, `category`, `level`, `tool`; `[x]` is a list of them, `{level: x}` a mapping.
    """

    type: str
    means: str
    required: bool = False


Section = Mapping[str, Key]

SECTIONS: Mapping[str, Section] = MappingProxyType(
    {
        "policy": {
            "version": Key("version", "The form of this file: 1.", required=True),
            "deny": Key("[deny]", "Names that no agent may touch, at any trust level."),
            "dangerous": Key("[dangerous]", "What no command may do, at any trust level."),
            "rules": Key("[rule]", "Answers for single tools, MCP servers and web domains."),
            "tools": Key("tools", "Which kind of act each tool is, and what levels say to it."),
            "defaults": Key("{level: permissions}", "What a session may do unasked."),
            "commands": Key("commands", "What further commands do; extends the built-in table."),
            "cage": Key("cage", "What the cage of `vault` sessions leaves open."),
            "gateway": Key("gateway", "What may be asked of the model's API."),
            "budgets": Key("budgets", "What a turn and a session may spend."),
        },
        "deny": {
            "id": Key("id", "How a later file refers to the rule.", required=True),
            "reason": Key("text", "Why, and what to do instead; goes to the agent.", required=True),
            "names": Key("[text]", "Globs for one part of a path, wherever it lies."),
            "paths": Key("[text]", "Globs for a whole path, relative to the vault."),
            "exceptions": Key("[text]", "Globs for names that this rule leaves alone."),
            "public": Key("[text]", "Globs for files that it leaves alone in its folders too."),
            "copies": Key("flag", "Whether names of copies count (`NAME~`, `NAME.bak`): yes."),
            "examples": Key("examples", "Paths to deny, and paths that nothing may deny."),
        },
        "dangerous": {
            "id": Key("id", "How a later file refers to the rule.", required=True),
            "reason": Key("text", "Why, and what to do instead; goes to the agent.", required=True),
            "acts": Key("[act]", "Kinds of effects that the rule is about."),
            "recursive": Key("flag", "Only what reaches all below a folder."),
            "severe": Key("flag", "Only what the table of commands marks as never right."),
            "folders": Key("[text]", "Folders, each with those above it and all it holds."),
            "paths": Key("[text]", "Absolute globs of files."),
            "kinds": Key("[kind]", "What the file system says that the target is."),
            "hosts": Key("[text]", "Hosts that are reached; `*.name` for all below a name."),
            "examples": Key("examples", "Commands to deny, and commands to leave alone."),
        },
        "rule": {
            "id": Key("id", "How a later file refers to the rule.", required=True),
            "reason": Key("text", "Why; goes to the agent and the person.", required=True),
            "answer": Key("answer", "What the rule says. Without it, the rule is switched off."),
            "tools": Key("[tool]", "Names of tools, with `*` at most at the end."),
            "servers": Key("[text]", "Names of MCP servers."),
            "domains": Key("[text]", "Web domains; `*.name` for all below a name."),
            "levels": Key("[level]", "The trust levels it is for; all if left out."),
            "examples": Key("examples_of_calls", "Calls that it is about, and calls it isn't."),
        },
        "cage": {
            "network": Key("flag", "Whether programs in the cage share the machine's network."),
        },
        "examples": {
            "deny": Key("[text]", "What the rule must deny."),
            "allow": Key("[text]", "What no rule of its kind may deny."),
        },
        "examples_of_calls": {
            "match": Key("[text]", "A tool, and a URL after a blank where it fetches one."),
            "other": Key("[text]", "The same, for calls that the rule isn't about."),
        },
        "tools": {
            "categories": Key("{category: [tool]}", "The tools of each kind."),
            "levels": Key("{level: {category: answer}}", "What each level says to each kind."),
        },
        "permissions": {
            "trust_mode": Key("flag", "All that the level reaches and nothing denies."),
            "read": Key("[text]", "Globs of what may be read, relative to the vault."),
            "write": Key("[text]", "Globs of what may be written, relative to the vault."),
            "bash": Key("bash", "Leading words of commands, or true for all, false for none."),
        },
        "gateway": {
            "models": Key("[text]", "Globs of models."),
            "server_tools": Key("{level: flag}", "Whether tools run at the API, by level."),
        },
        "budgets": {
            "turn": Key("spend", "Limits of one turn."),
            "session": Key("spend", "Limits of a session over all its turns."),
        },
        "spend": {
            "tokens": Key("count", "Tokens of all kinds; null for no limit."),
            "cost_usd": Key("amount", "US dollars at list price; null for no limit."),
        },
    }
)
"""Sections by the name of their type; a file as a whole is `policy`."""


def known(section: str) -> tuple[str, ...]:
    """The keys of a section."""
    return tuple(SECTIONS[section])


def required(section: str) -> tuple[str, ...]:
    """The keys that must be there."""
    return tuple(name for name, key in SECTIONS[section].items() if key.required)
