"""How long the slowest files take, so that they are begun first; a hint for the order, no more.

The first and the fourth go to the same worker. They are the two that mostly wait, so one of them
waits at a time, and the processors have work.
"""

from typing import Final

SECONDS: Final = {
    "integration/test_field_quiet_stream.py": 82,
    "integration/test_kill_nine.py": 80,
    "integration/test_cli_serve.py": 75,
    "integration/test_field_late_approvals.py": 70,
    "browser/test_flows.py": 70,
    "integration/test_tour.py": 60,
    "browser/test_views.py": 50,
    "integration/test_base_image.py": 45,
    "integration/test_field_after_a_kill.py": 41,
    "integration/test_field_cli_processes.py": 37,
    "integration/test_api_fuzzed.py": 31,
    "integration/test_field_full_disks.py": 30,
    "integration/test_migrations_killed.py": 31,
    "integration/test_cli_approvals.py": 26,
    "integration/test_field_one_turn_at_a_time.py": 23,
    "integration/test_cli_doctor.py": 21,
    "integration/test_scripts.py": 21,
    "integration/test_field_engine_elsewhere.py": 21,
    "integration/test_field_conversations_go_on.py": 15,
    "integration/test_field_beside_its_engine.py": 14,
    "integration/test_field_no_step_down.py": 13,
    "security/test_inv_08_where_a_command_begins.py": 13,
    "integration/test_field_the_viewer_leaves.py": 12,
    "integration/test_cli_tokens.py": 12,
    "security/test_inv_17_pace_and_tls.py": 12,
    "integration/test_search_index.py": 12,
    "security/test_inv_07_vault_texts_are_hostile.py": 11,
    "integration/test_wrong_image.py": 11,
    "integration/test_engine_death.py": 10,
    "integration/test_api_search.py": 7,
    "security/test_inv_07_output_is_hostile.py": 6,
    "integration/test_api_model.py": 6,
}
"""By the file's path from here: on two processors, the last time that somebody measured."""
