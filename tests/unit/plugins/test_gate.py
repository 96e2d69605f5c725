"""May a node be stopped, and is the cluster whole: each rule with a case that passes and one that does not."""

from __future__ import annotations

from dataclasses import replace

from plugins.module_utils.facts import Broker, Facts, Partition, Voter
from plugins.module_utils.gate import may_stop, not_whole


def voter(number: int, lag_ms: int = 0) -> Voter:
    return Voter(number, 100, 0, lag_ms)


def facts(*partitions: Partition, voters: int = 4, brokers: int = 4) -> Facts:
    return Facts(
        cluster_id="c",
        mode="kraft",
        controller_id=1,
        brokers=tuple(Broker(number, f"broker-{number}", 9092, None) for number in range(1, brokers + 1)),
        voters=tuple(voter(number) for number in range(1, voters + 1)),
        observers=(),
        partitions=partitions,
        features={},
    )


def partition(replicas: tuple[int, ...], in_sync: tuple[int, ...], minimum: int) -> Partition:
    return Partition("t", 0, in_sync[0] if in_sync else -1, replicas, in_sync, minimum)


def test_a_whole_cluster_lets_a_node_go() -> None:
    verdict = may_stop(facts(partition((1, 2, 3), (1, 2, 3), 2)), 2)
    assert verdict.allowed
    assert verdict.reasons == verdict.blocked_by == verdict.unprotected == verdict.warnings == ()


def test_a_partition_that_would_fall_below_min_insync_forbids_it() -> None:
    verdict = may_stop(facts(partition((1, 2, 3), (1, 2), 2)), 2)
    assert not verdict.allowed
    assert verdict.blocked_by == ("t-0",)
    assert verdict.reasons == ("1 partition would fall below min.insync.replicas: t-0.",)


def test_a_node_that_is_out_of_sync_anyway_may_go() -> None:
    assert may_stop(facts(partition((1, 2, 3), (1, 2), 2)), 3).allowed


def test_a_replica_that_died_a_moment_ago_does_not_count_as_in_sync() -> None:
    state = facts(partition((1, 2, 3), (1, 2, 3), 2), voters=0)
    assert not may_stop(replace(state, silent=(3,)), 2).allowed
    assert may_stop(replace(state, silent=(4,)), 2).allowed
    assert not_whole(replace(state, silent=(3,))) == ["brokers that take no connection: 3"]


def test_a_voter_that_died_a_moment_ago_does_not_count() -> None:
    assert not may_stop(replace(facts(), silent=(4,)), 1).allowed


def test_without_a_leader_of_the_quorum_nothing_is_stopped() -> None:
    state = replace(facts(), controller_id=-1, voters=())
    assert may_stop(state, 1).reasons == ("The quorum has no leader.",)
    assert not_whole(state) == ["the quorum has no leader"]


def test_a_node_without_the_partition_may_go() -> None:
    assert may_stop(facts(partition((1, 2, 3), (1, 2), 2)), 4).allowed


def test_the_last_replica_in_sync_may_not_go() -> None:
    assert not may_stop(facts(partition((1, 2), (1,), 1)), 1).allowed


def test_partitions_that_no_restart_leaves_writable_are_named_and_do_not_forbid() -> None:
    verdict = may_stop(facts(partition((1, 2), (1, 2), 2)), 1)
    assert verdict.allowed
    assert verdict.unprotected == ("t-0",)
    assert [warning.partition(",")[0] for warning in verdict.warnings] == [
        "1 partition cannot stay writable through any restart"
    ]


def test_unless_everything_is_required_to_stay_writable() -> None:
    verdict = may_stop(facts(partition((1, 2), (1, 2), 2)), 1, require_writable=True)
    assert not verdict.allowed
    assert "cannot stay writable" in verdict.reasons[0]


def test_four_voters_let_one_go() -> None:
    assert may_stop(facts(), 4).allowed


def test_four_voters_with_one_behind_let_no_other_go() -> None:
    state = facts()
    state = replace(state, voters=(*state.voters[:3], voter(4, lag_ms=60_000)))
    assert may_stop(state, 1).reasons == (
        "The quorum would keep 2 of 4 voters; a majority needs 3 (behind or gone: 4).",
    )
    assert may_stop(state, 4).allowed, "the one that is behind takes nothing away"


def test_a_voter_of_unknown_state_counts_as_gone() -> None:
    state = facts(voters=3)
    state = replace(state, voters=(voter(1), voter(2), voter(3, lag_ms=-1)))
    assert not may_stop(state, 1).allowed


def test_five_voters_with_one_behind_let_another_go() -> None:
    state = facts(voters=5)
    assert may_stop(replace(state, voters=(*state.voters[:4], voter(5, lag_ms=60_000))), 1).allowed


def test_small_quorums_cannot_keep_a_majority_so_it_is_a_warning() -> None:
    for count in (1, 2):
        verdict = may_stop(facts(voters=count), 1)
        assert verdict.allowed
        assert verdict.warnings == (f"A quorum of {count} cannot keep a majority through any restart of a controller.",)
        assert not may_stop(facts(voters=count), 1, require_writable=True).allowed


def test_a_broker_that_is_no_voter_does_not_touch_the_quorum() -> None:
    state = facts(voters=3, brokers=5)
    assert may_stop(replace(state, voters=(voter(1), voter(2, 60_000), voter(3, 60_000))), 5).allowed


def test_zookeeper_has_no_quorum_of_kafkas() -> None:
    assert may_stop(replace(facts(voters=0), mode="zookeeper"), 1).allowed


def test_whole_means_nothing_is_missing() -> None:
    assert not_whole(facts(partition((1, 2), (2, 1), 1)), expected=[1, 2, 3, 4]) == []


def test_everything_missing_is_named() -> None:
    state = facts(partition((1, 2), (), 1), brokers=3)
    state = replace(state, controller_id=-1, voters=(voter(1), voter(2, 9_000)))
    assert not_whole(state, expected=[1, 2, 3, 4]) == [
        "brokers not there: 4",
        "the quorum has no leader",
        "voters behind: 2",
        "replicas out of sync in 1 partition: t-0",
        "no leader for 1 partition: t-0",
    ]


def test_a_registered_broker_that_is_stopped_is_missing() -> None:
    state = facts()
    state = replace(state, brokers=(*state.brokers[:3], replace(state.brokers[3], fenced=True)))
    assert not_whole(state) == ["brokers registered and not there: 4"]
    assert not_whole(state, expected=[4]) == ["brokers not there: 4"]
    assert not_whole(state, expected=[1]) == []


def test_facts_name_partitions() -> None:
    result = facts(partition((1, 2, 3), (1, 2), 2)).result()
    assert result["under_replicated"] == result["at_min_isr"] == ["t-0"]
    assert result["offline"] == result["under_min_isr"] == []
    assert facts(partition((1, 2), (1, 2), 2)).result()["at_min_isr"] == []


def test_no_fact_has_a_name_that_means_something_to_ansible() -> None:
    reserved = {"unreachable", "failed", "skipped", "changed", "msg", "rc", "exception", "warnings", "invocation"}
    assert reserved.isdisjoint(facts().result())
