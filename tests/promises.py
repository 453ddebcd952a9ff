"""The ledger: what is promised, where the promise comes from, and which tests attack it.

Checked in both directions by `test_promises.py`: a promise names tests that exist, and every file
of the security suite and of the field reports is named by a promise.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise. `tests` are files below `tests/`, with `::prefix` for some of their tests."""

    id: str
    sentence: str
    tests: tuple[str, ...]


INVARIANTS: Final = (
    Promise(
        "INV-01",
        "Nothing makes a session run below the strictest floor.",
        (
            "security/test_inv_01_floor_core.py",
            "security/test_inv_01_floor.py",
            "security/test_inv_01_foreign_database.py",
            "security/test_inv_01_planted_logs.py",
            "security/test_inv_01_planted_links.py",
            "unit/sessions/test_plan.py::test_no_message_runs_below_any_floor",
        ),
    ),
    Promise(
        "INV-02",
        "If the runtime for the effective level is missing, the turn is refused.",
        ("security/test_inv_02_no_step_down.py", "security/test_inv_02_the_engine_filter.py"),
    ),
    Promise(
        "INV-03",
        "Each sandboxed message gets a container of its own, and nothing is left after it.",
        (
            "security/test_inv_03_fresh_and_gone.py",
            "security/test_inv_03_nothing_left_behind.py",
            "security/test_inv_03_a_folder_without_end.py",
            "security/test_inv_03_waiting_sandboxes.py",
            "security/test_inv_03_what_waits_gives_way.py",
            "security/test_inv_03_spare_sandboxes.py",
            "security/test_inv_03_what_befalls_what_waits.py",
            "integration/test_kill_nine.py",
        ),
    ),
    Promise(
        "INV-04",
        "In a sandbox the vault is read-only, and denied bytes can't be read, come what may.",
        (
            "security/test_inv_04_vault_view.py",
            "security/test_inv_04_masked_vault_whole_turn.py",
            "security/test_inv_04_git_history.py",
        ),
    ),
    Promise(
        "INV-05",
        "A sandbox has no network but loopback.",
        (
            "security/test_inv_05_no_network.py",
            "security/test_inv_05_no_queues.py",
            "security/test_inv_05_the_egress.py",
        ),
    ),
    Promise(
        "INV-06",
        "The API key exists in the gateway only.",
        (
            "security/test_inv_06_no_credentials.py",
            "security/test_inv_06_the_supervisors_own_environment.py",
            "conformance/test_runtimes.py::test_the_key_is_in_no_environment",
        ),
    ),
    Promise(
        "INV-07",
        "A container's output is untrusted input: bounded, checked, pinned to its turn.",
        (
            "security/test_inv_07_output_is_hostile.py",
            "security/test_inv_07_before_the_message.py",
            "security/test_inv_07_no_transcript_changes_sides.py",
            "security/test_inv_07_vault_texts_are_hostile.py",
            "unit/runtimes/test_wire.py",
            "unit/runtimes/test_wire_lines.py",
            "unit/runtimes/test_wire_transcripts.py",
        ),
    ),
    Promise(
        "INV-08",
        "The deny list beats every level, grant and setting.",
        (
            "security/test_inv_08_deny_beats_all.py",
            "security/test_inv_08_deny_beats_a_yes.py",
            "security/test_inv_08_hidden_in_a_glob.py",
            "security/test_inv_08_search.py",
            "security/test_inv_08_where_a_command_begins.py",
            "integration/test_every_tool_passes_the_gate.py",
        ),
    ),
    Promise(
        "INV-09",
        "At `vault` the agent's processes see the vault and the system, and no denied bytes.",
        (
            "security/test_inv_09_confinement.py",
            "security/test_inv_09_the_vault_changes.py",
            "security/test_inv_09_what_a_watch_could_miss.py",
            "integration/test_vault_cage_users.py",
            "unit/runtimes/test_bubblewrap.py",
            "unit/runtimes/test_vault_scan.py",
        ),
    ),
    Promise(
        "INV-10",
        "What steers agents isn't written by one, at `vault` not by its programs either.",
        (
            "security/test_inv_10_steering_by_detours.py",
            "security/test_inv_10_steering_in_the_cage.py",
        ),
    ),
    Promise(
        "INV-11",
        "What a person approves is what runs, byte for byte, and nothing in it stays unseen.",
        (
            "security/test_inv_11_what_is_approved_runs.py",
            "unit/approvals/test_display.py",
            "unit/approvals/test_pending.py::test_an_answer_to_another_call",
        ),
    ),
    Promise(
        "INV-12",
        "A grant counts for its session, at the trust level it was given at, until it ends.",
        (
            "security/test_inv_12_grants_dont_travel.py",
            "integration/test_grants.py",
            "unit/gate/test_gate_grants.py",
            "unit/policy/test_grant_pattern.py",
        ),
    ),
    Promise(
        "INV-13",
        "What an agent starts is bound as it is, and nobody grants itself anything.",
        ("security/test_inv_13_children_inherit.py",),
    ),
    Promise(
        "INV-14",
        "Every change of the audit log by somebody without its key is found in its place.",
        (
            "security/test_inv_14_the_audit_log.py",
            "integration/test_audit_over_http.py",
            "unit/observability/test_audit.py",
        ),
    ),
    Promise(
        "INV-15",
        "A caged turn begins with a measured receipt; a weak one refuses the message.",
        (
            "security/test_inv_15_measured_not_claimed.py",
            "security/test_inv_15_the_vault_cage_is_measured.py",
            "unit/runtimes/test_cage_receipt.py",
        ),
    ),
    Promise(
        "INV-16",
        "A honeytoken of a denied file that shows up ends the turn and writes an incident.",
        (
            "security/test_inv_16_honeytokens.py",
            "security/test_inv_16_last_words.py",
            "integration/test_gateway_honeytokens.py",
            "unit/gate/test_gate_honeytokens.py",
            "unit/runtimes/test_honeytokens.py",
            "unit/runtimes/test_vault_view_decoys.py",
            "unit/sessions/test_alarm.py",
        ),
    ),
    Promise(
        "INV-17",
        "Loopback, a token with its scope on every route but health, checked Host and Origin.",
        (
            "security/test_inv_17_who_may_call.py",
            "security/test_inv_17_tokens_and_logins.py",
            "security/test_inv_17_what_has_ended.py",
            "security/test_inv_17_logins.py",
            "security/test_inv_17_console_surface.py",
            "security/test_inv_17_pace_and_tls.py",
            "security/test_inv_17_a_false_supervisor.py",
            "unit/access/test_scopes.py",
        ),
    ),
)

FIELD_REPORTS: Final = (
    Promise(
        "S01",
        "A quiet stream survives an ordinary proxy, and deltas come apart.",
        ("integration/test_api_behind_nginx.py", "integration/test_field_quiet_stream.py"),
    ),
    Promise(
        "S02",
        "Exotic line breaks never split or forge an event.",
        (
            "integration/test_api_streams.py",
            "browser/test_hostile_text.py",
            "integration/test_cli_chat.py::test_exotic_line_breaks",
            "unit/cli/test_render.py::test_no_event_can_command_the_terminal",
        ),
    ),
    Promise(
        "S03",
        "One turn at a time: the second message gets 409, and no turn is lost.",
        ("integration/test_field_one_turn_at_a_time.py",),
    ),
    Promise(
        "S04",
        "A viewer that leaves changes nothing; the turn can be joined again and aborted.",
        ("integration/test_field_the_viewer_leaves.py",),
    ),
    Promise(
        "S05",
        "After a kill the next start removes what is provably ours, and nothing else.",
        (
            "integration/test_reaper.py",
            "integration/test_leftover_processes.py",
            "integration/test_field_after_a_kill.py",
        ),
    ),
    Promise(
        "S06",
        "Why a sandbox died is told apart: memory, a kill, the engine.",
        ("integration/test_field_why_a_sandbox_died.py", "integration/test_engine_death.py"),
    ),
    Promise(
        "S07",
        "Any path works as a vault's.",
        ("integration/test_field_odd_vault_paths.py",),
    ),
    Promise(
        "S08",
        "Isolation that can't be had refuses the turn within seconds, and says what mends it.",
        ("integration/test_field_no_step_down.py", "integration/test_field_full_disks.py"),
    ),
    Promise(
        "S09",
        "An approval that comes late is honoured.",
        ("integration/test_field_late_approvals.py",),
    ),
    Promise(
        "S10",
        "A session is taken up again wherever it works.",
        ("integration/test_field_conversations_go_on.py",),
    ),
    Promise(
        "S11",
        "A question is answered by a person or not at all.",
        ("integration/test_field_questions.py",),
    ),
    Promise(
        "S12",
        "Long prompts and messages run.",
        (
            "integration/test_field_long_prompts.py",
            "integration/test_field_refused_messages.py",
        ),
    ),
    Promise(
        "S13",
        "No CLI process is left, and no foreign one is touched.",
        (
            "integration/test_field_cli_processes.py",
            "integration/test_mcp_turns.py::test_a_server_that",
        ),
    ),
    Promise(
        "S14",
        "A database that others hold is waited for, and no row of parallel sessions is lost.",
        (
            "integration/test_storage_processes.py::test_twenty_sessions",
            "integration/test_storage_processes.py::test_a_lock_held",
            "integration/test_storage_processes.py::test_two_processes_that_count",
        ),
    ),
    Promise(
        "S15",
        "A migration that is cut off anywhere is finished or undone by the next start.",
        (
            "integration/test_migrations_killed.py",
            "integration/test_storage_processes.py::test_two_supervisors_that_start",
            "unit/storage/test_earlier.py",
            "unit/storage/test_migrate.py",
        ),
    ),
    Promise(
        "S16",
        "A torn last line costs that line, and is told; the file isn't rewritten.",
        (
            "integration/test_field_torn_transcripts.py",
            "integration/test_field_conversations_not_taken_up.py",
            "unit/sessions/test_history.py::test_cut_after_every_byte",
        ),
    ),
    Promise(
        "S17-S19",
        "An agent's file means the same whatever saved it, or is refused with its line.",
        (
            "unit/agents/test_parse.py::test_whatever_program_saved_it",
            "unit/agents/test_parse.py::test_the_prompt_is_the_body",
            "unit/agents/test_parse.py::test_what_can_not_be_read_whole",
            "unit/agents/test_discover.py::test_a_good_one_that_becomes_broken",
        ),
    ),
    Promise(
        "S20-S22",
        "An upload's name is data: stored safely, found again by it, and no header is bent.",
        ("integration/test_captures.py", "unit/captures/test_names.py"),
    ),
    Promise(
        "S23-S25",
        "No web page drives the API, whatever Host, Origin or type it sends; no stream is open.",
        (
            "security/test_inv_17_who_may_call.py",
            "security/test_inv_17_console_surface.py",
            "integration/test_api_routes.py",
        ),
    ),
    Promise(
        "S26",
        "Adding an MCP server runs nothing, is an admin's, and never starts a host process for a"
        " sandbox.",
        (
            "integration/test_mcp.py",
            "integration/test_mcp_turns.py",
            "integration/test_mcp_relay.py",
            "security/test_inv_06_mcp_secrets.py",
            "security/test_inv_10_steering_in_the_cage.py",
        ),
    ),
    Promise(
        "S29",
        "After a restart no session is running, and each tells that it was cut off.",
        ("integration/test_field_after_a_kill.py", "unit/sessions/test_recovery.py"),
    ),
    Promise(
        "S30",
        "Where the engine sees other paths, they are found, or refused and the setting named.",
        (
            "integration/test_field_engine_elsewhere.py",
            "integration/test_field_beside_its_engine.py",
            "unit/runtimes/container/test_engine_paths.py",
        ),
    ),
)

LEDGER: Final = (*INVARIANTS, *FIELD_REPORTS)
