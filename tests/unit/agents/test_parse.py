"""An agent file is the same agent whatever wrote it, or it is refused with the line."""

import pytest

from supervisor.agents.definition import AgentDefinition
from supervisor.agents.frontmatter import LARGEST_FILE
from supervisor.agents.parse import parse_agent
from supervisor.errors import ConfigurationError
from supervisor.trust.levels import TrustLevel

PATH = "agents/writer.md"
PLAIN = "---\nname: Writer\ntools: [Read]\ntrust: vault\n---\nWrite well.\n"


def parsed(text: str | bytes) -> AgentDefinition:
    return parse_agent(PATH, text if isinstance(text, bytes) else text.encode())


def refused(text: str | bytes) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        parsed(text)
    assert (caught.value.where or "").startswith(f"{PATH}:")
    return caught.value


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r\n", 2).encode(),
        PLAIN.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.encode("utf-16"),
        PLAIN.replace("---\n", "---  \t\n").encode(),
        PLAIN.removesuffix("\nWrite well.\n").encode(),
    ],
    ids=["lf", "crlf", "mixed", "cr", "bom", "bom+crlf", "utf-16", "blanks", "no newline at end"],
)
def test_whatever_program_saved_it_the_limits_are_the_same(content: bytes) -> None:
    agent = parsed(content)
    assert agent.name == "Writer"
    assert agent.bounds.tools == ("Read",)
    assert agent.trust is TrustLevel.VAULT
    assert "tools" not in (agent.prompt or "")


@pytest.mark.parametrize(
    "body",
    [
        "one\n---\ntwo\n---\nthree\n---\n",
        '```yaml\n---\ntools: "*"\n---\n```\n',
        "\r\nkept as it is \r\n\n\n",
        "---\n",
    ],
)
def test_the_prompt_is_the_body_byte_for_byte_and_nothing_of_it_becomes_a_setting(
    body: str,
) -> None:
    agent = parsed(f"---\ndescription: before --- after\ntools: [Read]\n---\n{body}")
    assert agent.prompt == body
    assert agent.bounds.tools == ("Read",)
    assert agent.description == "before --- after"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("----\nname: x\n----\n", 1),
        ("name: x\n", 1),
        ("\n---\nname: x\n---\n", 1),
        ("", 1),
        ("---\nname: x\ntools: [Read]\n", 1),
        ("---\n---\nbody", 1),
        ("---\ndescription: Use for: reviews\ntools: [Read]\n---\n", 2),
        ("---\nname: x\n\ttools: [Read]\n---\n", 3),
        ("---\nname: x\nname: y\n---\n", 3),
        ("---\nname: x\npermisions: {write: []}\n---\n", 3),
        ("---\nname: x\n- a\n---\n", 3),
        ("---\n[name]\n---\n", 2),
        ("---\nname: no\n---\n", 2),
        ("---\nname: x\ntrust: loose\n---\n", 3),
        ("---\nname: x\ntools: ['Bash(git:*)']\n---\n", 3),
        ("---\nname: x\nwrite_permissions: ['/etc/*']\n---\n", 3),
        ("---\nname: x\nwrite_permissions: ['../*']\n---\n", 3),
        ("---\nname: x\npermissions:\n  bash: ['git; rm']\n---\n", 4),
        ("---\nname: x\ntools: [Read]\npermissions: {tools: [Bash]}\n---\n", 4),
        ("---\nagent: {name: x}\ntools: [Read]\n---\n", 3),
        ("---\nagent:\n  name: x\n  color: red\n---\n", 4),
        ("---\nname: x\nconstraints: {timeout: -1}\n---\n", 3),
        ("---\nname: x\nmcpServers: [a]\npermissions: {approvedMcps: [b]}\n---\n", 3),
        (b"---\nname: \xff\n---\n", 2),
        (b"---\nname: x\n---\na\x00b", 4),
    ],
)
def test_what_can_not_be_read_whole_is_refused_with_its_line(text: str | bytes, line: int) -> None:
    assert (refused(text).where or "").split(":")[1].split(" ")[0] == str(line)


def test_a_misspelt_setting_is_refused_with_the_nearest_known() -> None:
    assert "`tools`" in (refused("---\nname: x\ntoolz: [Read]\n---\n").remedy or "")


def test_a_file_over_the_limit_is_refused_with_its_size_and_the_limit() -> None:
    error = refused("---\nname: x\n---\n" + "a" * LARGEST_FILE)
    assert str(LARGEST_FILE) in error.message


@pytest.mark.parametrize("letters", ["x" * 140 * 1024, "ä" * 70_000])
def test_a_prompt_over_the_system_s_limit_for_arguments_is_read_whole(letters: str) -> None:
    assert parsed(f"---\nname: x\n---\n{letters}").prompt == letters


def test_both_forms_say_the_same() -> None:
    flat = parsed(
        "---\nname: Writer\nmodel: sonnet\ntools: Read, Write\nwrite_permissions: [Blog/**/*]\n"
        "mcpServers: [browser]\nspawns: [agents/reviewer.md]\n---\n"
    )
    nested = parsed(
        "---\ntitle: A note\nanything: goes\nagent:\n  name: Writer\n  model: sonnet\n"
        "  mcpServers: [browser]\n  permissions:\n    tools: [Read, Write]\n"
        "    write: [Blog/**/*]\n    spawn: [agents/reviewer.md]\n---\n"
    )
    assert flat == nested


def test_the_setting_comes_before_the_body_in_the_prompt() -> None:
    agent = parsed("---\nname: x\nsystem_prompt: |\n  You are kind.\n---\n# More\n")
    assert agent.prompt == "You are kind.\n\n# More\n"


def test_an_agent_without_a_word_of_its_own_has_no_prompt() -> None:
    assert parsed("---\nname: x\n---\n\n").prompt is None


def test_all_tools_is_no_bound_and_none_is_one() -> None:
    assert parsed("---\nname: x\ntools: '*'\n---\n").bounds.tools is None
    assert parsed("---\nname: x\ntools: []\n---\n").bounds.tools == ()


def test_what_note_programs_write_does_no_harm() -> None:
    agent = parsed("---\nname: x\ntags: [a]\naliases: []\ncreated: 2026-01-01\n---\n")
    assert agent.name == "x"


def test_servers_are_named_or_described() -> None:
    named = parsed("---\nname: x\nmcpServers: [browser, notes]\n---\n")
    assert named.mcp_servers == ("browser", "notes")
    own = parsed("---\nname: x\nmcpServers: {b: {command: npx, args: [x]}}\n---\n")
    assert own.own_servers == {"b": {"command": "npx", "args": ["x"]}}
    assert own.mcp_servers == ()
    both = parsed("---\nname: x\nmcpServers: [a, b: {command: npx}]\n---\n")
    assert (both.mcp_servers, both.own_servers) == (("a",), {"b": {"command": "npx"}})
    assert parsed("---\nname: x\nmcpServers: []\n---\n").mcp_servers == ()
    assert parsed("---\nname: x\n---\n").mcp_servers is None


def test_without_a_name_it_is_called_as_its_file() -> None:
    assert parsed("---\ndescription: d\n---\n").name == "writer"
