"""How long the slowest files take, so that they are begun first; a hint for the order, no more.

The first and the fourth go to the same worker. They are the two that mostly wait, so one of them
waits at a time, and the processors have work.
"""

from typing import Final

SECONDS: Final = {
    "integration/test_field_quiet_stream.py": 82,
    "integration/test_tour.py": 76,
    "browser/test_flows.py": 72,
    "integration/test_field_late_approvals.py": 70,
    "security/test_inv_03_waiting_sandboxes.py": 55,
    "conformance/test_runtimes.py": 52,
    "browser/test_views.py": 55,
    "browser/test_odd_visits.py": 35,
    "integration/test_base_image.py": 45,
    "integration/test_kill_nine.py": 43,
    "integration/test_migrations_killed.py": 42,
    "security/test_inv_07_output_is_hostile.py": 40,
    "integration/test_field_after_a_kill.py": 38,
    "integration/test_field_full_disks.py": 36,
    "security/test_inv_09_what_a_watch_could_miss.py": 35,
    "integration/test_field_one_turn_at_a_time.py": 34,
    "security/test_inv_03_spare_sandboxes.py": 30,
    "security/test_inv_16_honeytokens.py": 33,
    "security/test_inv_03_what_befalls_what_waits.py": 45,
    "integration/test_mcp_turns.py": 31,
    "integration/test_api_odd_texts.py": 30,
    "security/test_inv_03_nothing_left_behind.py": 30,
    "security/test_inv_17_who_may_call.py": 29,
    "integration/test_field_odd_vault_paths.py": 28,
    "integration/test_api_fuzzed.py": 27,
    "integration/test_field_cli_processes.py": 26,
    "integration/test_scripts.py": 25,
    "security/test_inv_09_the_vault_changes.py": 24,
    "security/test_inv_01_floor.py": 24,
    "integration/test_field_the_viewer_leaves.py": 22,
    "integration/test_cli_serve.py": 21,
    "integration/test_vault_cage_places.py": 20,
    "security/test_inv_10_steering_by_detours.py": 20,
    "security/test_inv_02_no_step_down.py": 20,
    "security/test_inv_09_confinement.py": 20,
    "integration/test_captures.py": 18,
    "integration/test_field_long_prompts.py": 18,
    "integration/test_field_engine_elsewhere.py": 18,
    "integration/test_field_why_a_sandbox_died.py": 16,
    "integration/test_cli_chat_requests.py": 9,
    "integration/test_field_conversations_go_on.py": 15,
    "integration/test_field_beside_its_engine.py": 14,
    "security/test_inv_03_what_waits_gives_way.py": 14,
    "integration/test_field_no_step_down.py": 14,
    "integration/test_mcp_trials.py": 14,
    "security/test_inv_03_a_folder_without_end.py": 14,
    "security/test_inv_04_vault_view.py": 14,
    "security/test_inv_08_where_a_command_begins.py": 8,
}
"""By the file's path from here: on two processors, the last time that somebody measured."""
