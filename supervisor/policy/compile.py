"""Documents, in order → the policy in force: later ones override, self-protection is added."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from supervisor.errors import ConfigurationError
from supervisor.policy.bash.table import CommandTable
from supervisor.policy.bash.table_reading import extend, shipped_table
from supervisor.policy.builtin import HIDDEN, IN_REPOSITORIES, PROTECTED, own_folders
from supervisor.policy.compiled import Category, CompiledPolicy, GatewayTerms, Spend
from supervisor.policy.deny_list import DenyList
from supervisor.policy.kept import Kept
from supervisor.policy.overriding import merged
from supervisor.policy.permissions import Permissions
from supervisor.policy.schema import PolicyDocument
from supervisor.policy.tool_rules import Answer
from supervisor.trust.levels import TrustLevel


def compile_policy(
    documents: Sequence[PolicyDocument],
    *,
    secret_folders: Iterable[str] = (),
    steering_folders: Iterable[str] = (),
) -> CompiledPolicy:
    """One policy out of the documents, later ones overriding by id, tool, level and limit.

    The folders are absolute paths of the supervisor's own: see `builtin.own_folders`. What no
    document answers is denied (a category at a level, server tools, the cage's network) or
    unlimited (a budget). Raises ConfigurationError if the documents together say too little to
    decide by, or one switches off a rule that there isn't.
    """
    tools: dict[str, Category] = {}
    levels = {level: dict.fromkeys(Category, Answer.DENY) for level in TrustLevel}
    server_tools = dict.fromkeys(TrustLevel, False)
    defaults = dict.fromkeys(TrustLevel, Permissions())
    budgets: dict[tuple[str, str], float | None] = {}
    models: tuple[str, ...] = ()
    cage_network = False
    for document in documents:
        tools.update(document.categories)
        for level, answers in document.levels.items():
            levels[level].update(answers)
        defaults.update(document.defaults)
        server_tools.update(document.server_tools)
        budgets.update(document.budgets)
        if document.cage_network is not None:
            cage_network = document.cage_network
        models = document.models if document.models is not None else models
    if not tools or not models:
        where = documents[-1].file if documents else "policies"
        raise ConfigurationError(
            "the policy files name no tools or no models",
            where=where,
            remedy="keep the shipped default.yaml in the folder of policies",
        )
    own = (*secret_folders,), (*steering_folders,)
    built_in = {rule.id for rule in (*PROTECTED, *HIDDEN, *own_folders((), ()))}
    deny = merged("deny", [document.deny for document in documents], built_in=built_in)
    danger = merged("dangerous", [document.dangerous for document in documents])
    # What a later file says of a tool is asked before what an earlier one says.
    about_tools = merged("rules", [document.rules for document in documents], later_first=True)
    own_secret, own_steering = own_folders(*own)
    rules = tuple(entry.rule for entry in deny)
    denied = (*rules, own_secret)
    stays = (rule for rule in PROTECTED if rule.id not in IN_REPOSITORIES)
    kept = (*stays, own_secret, own_steering)
    return CompiledPolicy(
        hash=_hash(documents),
        rules=rules,
        denied=DenyList(denied),
        hidden=DenyList((*denied, *HIDDEN)),
        protected=DenyList((*PROTECTED, own_secret, own_steering)),
        kept=Kept(DenyList(kept)),
        dangerous=tuple(entry.rule for entry in danger if entry.rule.acts),
        tool_rules=tuple(entry.rule for entry in about_tools),
        commands=_commands(documents),
        defaults=defaults,
        tools={name: category for name, category in tools.items() if not name.endswith("*")},
        tool_prefixes=_prefixes(tools),
        levels=levels,
        cage_network=cage_network,
        gateway=GatewayTerms(
            models=models,
            server_tools=server_tools,
            turn=_spend(budgets, "turn"),
            session=_spend(budgets, "session"),
        ),
        examples=tuple(entry.examples for entry in deny),
        dangerous_examples=tuple(entry.examples for entry in danger),
        tool_examples=tuple(entry.examples for entry in about_tools),
        own_folders=(*own[0], *own[1]),
    )


def _commands(documents: Sequence[PolicyDocument]) -> CommandTable:
    table = shipped_table()
    for document in documents:
        if document.commands is not None:
            table = extend(table, document.commands.plain(), document.commands.where)
    return table


def _prefixes(tools: dict[str, Category]) -> tuple[tuple[str, Category], ...]:
    found = [(name[:-1], category) for name, category in tools.items() if name.endswith("*")]
    return tuple(sorted(found, key=lambda each: (-len(each[0]), each[0])))


def _spend(budgets: dict[tuple[str, str], float | None], scope: str) -> Spend:
    tokens = budgets.get((scope, "tokens"))
    return Spend(
        tokens=None if tokens is None else int(tokens), cost_usd=budgets.get((scope, "cost_usd"))
    )


def _hash(documents: Sequence[PolicyDocument]) -> str:
    content = [
        {
            "deny": [_plain(asdict(e.rule)) for e in document.deny],
            "dangerous": [_plain(asdict(e.rule)) for e in document.dangerous],
            "rules": [_plain(asdict(e.rule)) for e in document.rules],
            "commands": document.commands.plain() if document.commands is not None else None,
            "defaults": {level: asdict(each) for level, each in document.defaults.items()},
            "categories": dict(document.categories),
            "levels": {level: dict(answers) for level, answers in document.levels.items()},
            "models": document.models,
            "server_tools": dict(document.server_tools),
            "cage_network": document.cage_network,
            "budgets": {".".join(key): value for key, value in document.budgets.items()},
        }
        for document in documents
    ]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(rule: Mapping[str, object]) -> dict[str, object]:
    return {
        key: sorted(value) if isinstance(value, frozenset) else value for key, value in rule.items()
    }
