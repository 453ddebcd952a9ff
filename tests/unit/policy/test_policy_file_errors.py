"""A mistake in a policy file is told with file, line, column, field and what was expected."""

import pytest

from supervisor.errors import ConfigurationError
from supervisor.policy.compile import compile_policy
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.document import DEEPEST_NESTING, LARGEST_FILE, MOST_ALIASES
from supervisor.policy.examples import failing_examples
from supervisor.policy.schema import read_document


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("", "p.yaml:1:1", "empty"),
        ("version: 2\n", "p.yaml:1:10 version", "expected 1"),
        ("deny: []\n", "p.yaml:1:1", "the key `version`"),
        ("version: 1\nversion: 1\n", "p.yaml:2:1 version", "each key once"),
        ("- a\n", "p.yaml:1:1", "a mapping"),
        ("version: 1\ndeny: x\n", "p.yaml:2:7 deny", "a list"),
        ("version: 1\ndeny:\n  - reason: r\n", "p.yaml:3:5 deny[0]", "the key `id`"),
        ("version: 1\ndeny:\n  - {id: A b, reason: r}\n", "p.yaml:3:10 deny[0].id", "lower-case"),
        ("version: 1\ndeny:\n  - {id: a, reason: 5}\n", "p.yaml:3:21 deny[0].reason", "a text"),
        (
            "version: 1\ndeny:\n  - {id: a, reason: r, names: [a/b]}\n",
            "p.yaml:3:32 deny[0].names[0]",
            "without a slash",
        ),
        (
            "version: 1\ndeny:\n  - {id: a, reason: r, names: ['*']}\n",
            "p.yaml:3:32 deny[0].names[0]",
            "match everything",
        ),
        (
            "version: 1\ndeny:\n  - {id: a, reason: r, paths: [/etc/x]}\n",
            "p.yaml:3:32 deny[0].paths[0]",
            "without a slash at its start",
        ),
        (
            "version: 1\ndeny:\n  - {id: a, reason: r}\n  - {id: a, reason: r}\n",
            "p.yaml:4:5 deny[1]",
            "each id once",
        ),
        (
            "version: 1\ntools:\n  levels:\n    full:\n      web: maybe\n",
            "p.yaml:5:12 tools.levels.full.web",
            "one of allow, ask, deny",
        ),
        (
            "version: 1\ntools:\n  categories:\n    read: [Read, Read me]\n",
            "p.yaml:4:18 tools.categories.read[1]",
            "a tool's name",
        ),
        (
            "version: 1\ntools:\n  categories: {read: [X], write: [X]}\n",
            "p.yaml:3:35 tools.categories.write[0]",
            "is read already",
        ),
        (
            "version: 1\nbudgets: {turn: {tokens: -1}}\n",
            "p.yaml:2:26 budgets.turn.tokens",
            "a whole number above 0",
        ),
        (
            "version: 1\nbudgets: {turn: {cost_usd: .nan}}\n",
            "p.yaml:2:28 budgets.turn.cost_usd",
            "a number above 0",
        ),
        (
            "version: 1\ngateway: {server_tools: {full: yes please}}\n",
            "p.yaml:2:32 gateway.server_tools.full",
            "true or false",
        ),
        (
            "version: 1\ndeny:\n  - {id: a, reason: r, exceptions: [x]}\n",
            "p.yaml:3:5 deny[0]",
            "`names` or `paths` beside `exceptions`",
        ),
        (
            "version: 1\ndangerous:\n  - {id: a, reason: r, folders: [/srv]}\n",
            "p.yaml:3:5 dangerous[0]",
            "`acts` beside `folders`",
        ),
        (
            "version: 1\nrules:\n  - {id: a, reason: r, tools: [Read]}\n",
            "p.yaml:3:5 rules[0]",
            "`answer` beside `tools`",
        ),
        ("version: 1\n\tx: 1\n", "p.yaml:2:1", "there is a tab"),
        ("version: 1\nx: [1\n", "p.yaml:2:4", "the `]` of the list that begins here"),
        ("version: 1\nx: [1, 2}\n", "p.yaml:2:9", "there is `}`"),
        ("deny:\n  - id: a\n   reason: x\n", "p.yaml:3:4", "the same indentation"),
        ("deny:\n  - id: a\n      reason: x\n", "p.yaml:3:13", "indented too far"),
        ("version: 1\ndeny\n", "p.yaml:2:1", "no `:` after the key"),
        ("version: 1\n- a\n", "p.yaml:2:1", "a list's `-` follows"),
        (" version: 1\ndeny: []\n", "p.yaml:2:1", "the same indentation"),
        ("x: 'y\nz: 1\n", "p.yaml:1:4", "the closing quote of the text that begins here"),
        ("x: 'y' z\n", "p.yaml:1:8", "a text follows"),
        ('x: "\\d"\n', "p.yaml:1:6", r"`\d` is none"),
        ("x: [*.env]\n", "p.yaml:1:5", "must be in quotes"),
        ("x: *env\n", "p.yaml:1:4", "refers to an anchor"),
        ("x: %a\n", "p.yaml:1:4", "begins with `%`"),
        ("x: [a,,b]\n", "p.yaml:1:7", "a value, but there is `,`"),
        ("x: &a 1\ny: &a 2\n", "p.yaml:2:4", "came before"),
        ("version: 1\n---\nversion: 1\n", "p.yaml:2:1", "one document"),
        ("version: 1\nx: a\x07b\n", "p.yaml:2:5", "U+0007"),
    ],
)
def test_the_place_and_what_was_expected_are_named(text: str, where: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as found:
        read_document("p.yaml", text.encode())
    assert found.value.where == where
    assert said in found.value.message


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("version: 1\ndney: []\n", "did you mean `deny`?"),
        ("version: 1\ndeny: [{id: a, reason: r, name: [x]}]\n", "did you mean `names`?"),
        ("version: 1\ndeny: [{id: a, reason: off, names: [x]}]\n", "put it in quotes: 'off'"),
        ("version: 1\ntools: {levels: {sandbox: {}}}\n", "did you mean `sandboxed`?"),
        ("version: 1\ntools: {levels: {full: {shel: ask}}}\n", "did you mean `shell`?"),
    ],
)
def test_an_unknown_key_is_an_error_that_names_the_nearest_known_one(
    text: str, remedy: str
) -> None:
    with pytest.raises(ConfigurationError) as found:
        read_document("p.yaml", text.encode())
    assert found.value.remedy == remedy


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\n#" + "x" * LARGEST_FILE,
        "a: &a [x]\nb: [" + ", ".join(["*a"] * (MOST_ALIASES + 1)) + "]\n",
        "a: " + "[" * (DEEPEST_NESTING + 1) + "]" * (DEEPEST_NESTING + 1),
        "version: 1\ndeny: [" + ", ".join(["{id: a, reason: r}"] * 2001) + "]\n",
        "a: &a [*a]\n",
        "!!python/object/apply:os.getcwd []\n",
        "version: !!python/name:os.getcwd ''\n",
        "version: 1\n---\nversion: 1\n",
    ],
    ids=["size", "aliases", "nesting", "list", "circle", "object", "name", "two-documents"],
)
def test_limits_hold_and_nothing_is_built_from_tags(text: str) -> None:
    with pytest.raises(ConfigurationError):
        read_document("p.yaml", text.encode())


def test_a_file_that_is_not_utf8_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigurationError) as found:
        read_document("p.yaml", b"version: 1\n# \xff\n")
    assert found.value.where == "p.yaml:2:1"


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    plain = b"version: 1\ndeny:\n  - id: a\n    reason: r\n    names: [x]\n"
    windows = b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")
    assert read_document("p.yaml", windows).deny == read_document("p.yaml", plain).deny


FIRST = """version: 1
deny:
  - {id: private-keys, reason: r, names: [id_rsa]}
dangerous:
  - {id: as-root, reason: r, acts: [escalates]}
rules:
  - {id: no-web, reason: r, answer: deny, tools: [WebFetch]}
tools: {categories: {read: [Read]}}
gateway: {models: [x]}
"""


def compiled(later: str) -> CompiledPolicy:
    return compile_policy(
        [
            read_document("a.yaml", FIRST.encode()),
            read_document("b.yaml", f"version: 1\n{later}".encode()),
        ]
    )


@pytest.mark.parametrize(
    ("section", "name", "near", "needs"),
    [
        ("deny", "privat-keys", "private-keys", "`names` or `paths`"),
        ("dangerous", "as-rot", "as-root", "`acts`"),
        ("rules", "no-weeb", "no-web", "`answer`"),
    ],
)
def test_switching_off_a_rule_that_is_not_there_is_an_error_that_names_the_nearest(
    section: str, name: str, near: str, needs: str
) -> None:
    with pytest.raises(ConfigurationError) as found:
        compiled(f"{section}:\n  - reason: not for us\n    id: {name}\n")
    assert found.value.where == f"b.yaml:4:9 {section}[0].id"
    assert found.value.remedy == f"did you mean `{near}`?"
    with pytest.raises(ConfigurationError) as found:
        compiled(f"{section}:\n  - {{id: quite-new, reason: r}}\n")
    assert needs.strip("`") in found.value.message
    assert needs.strip("`") in (found.value.remedy or "")


@pytest.mark.parametrize(
    ("section", "name"), [("deny", "private-keys"), ("dangerous", "as-root"), ("rules", "no-web")]
)
def test_control_a_rule_that_is_there_is_switched_off(section: str, name: str) -> None:
    on, off = compiled("deny: []"), compiled(f"{section}:\n  - {{id: {name}, reason: not here}}\n")
    assert on.denied.match("id_rsa") is not None
    assert (off.denied.match("id_rsa") is None) == (section == "deny")
    assert len(on.dangerous) - len(off.dangerous) == (section == "dangerous")
    assert (off.tool_rules[0].answer is None) == (section == "rules")


def test_an_example_that_fails_has_the_place_of_the_example() -> None:
    policy = compiled(
        "deny:\n  - id: payroll\n    reason: r\n    names: [pay]\n    examples:\n"
        '      deny: [pay, "nay"]\n      allow:\n        - fine\n        - id_rsa\n'
        "rules:\n  - id: w\n    reason: r\n    answer: ask\n    tools: [WebSearch]\n"
        "    examples: {match: [Read], other: [WebSearch]}\n"
        "dangerous:\n  - id: d\n    reason: r\n    acts: [sends]\n"
        "    examples: {deny: [ls], allow: [curl http://x]}\n"
    )
    failing = {(each.where, each.missed) for each in failing_examples(policy)}
    assert failing == {
        ("b.yaml:7:19 deny[0].examples.deny[1]", True),
        ("b.yaml:10:11 deny[0].examples.allow[1]", False),
        ("b.yaml:16:24 rules[0].examples.match[0]", True),
        ("b.yaml:16:39 rules[0].examples.other[0]", False),
        ("b.yaml:21:23 dangerous[0].examples.deny[0]", True),
        ("b.yaml:21:36 dangerous[0].examples.allow[0]", False),
    }
