"""What is promised of a KRaft cluster holds with ZooKeeper: the same tests. Those of every day; the rest: test_further."""

from __future__ import annotations

import pytest

from tests.system.cluster import test_secured
from tests.system.zookeeper.left_out import taken_over

pytestmark = pytest.mark.system

USUAL = (
    "test_a_certificate_of_another_authority_is_refused",
    "test_a_second_run_changes_nothing_and_nothing_drifts",
    "test_a_wrong_login_is_refused",
    "test_both_mechanisms_log_in",
    "test_check_mode_works_on_virgin_hosts",
    "test_plaintext_gets_no_answer",
    "test_the_firewall_opens_the_nodes_ports_to_nodes_only",
    "test_the_service_is_caged_for_real",
    "test_usercc_is_refused_on_everything_else",
    "test_usercc_writes_and_reads_its_topics",
    "test_without_a_certificate_there_is_no_mutual_tls",
)
globals().update(taken_over(test_secured, only=USUAL))
