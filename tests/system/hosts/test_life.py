"""The life of a stack's hosts: up, look, change, break, mend. The order of the tests is the order of such a life."""

from __future__ import annotations

import json
import subprocess

import pytest

from common.ssh import ssh_argv
from common.wait import wait_until
from infra.providers.nspawn import registry
from infra.providers.nspawn.disk import may_grow_mounted
from tests.system.hosts.checks import assert_marks, assert_well
from tests.system.lab import Lab, machine_view, new_lab, wait_for_quiet

pytestmark = pytest.mark.system


def started(lab: Lab) -> dict[str, list[int]]:
    """A host's supervisor is its identity in time: another one means it was stopped in between."""
    return {host: lab.supervisors(host) for host in lab.hosts()}


def test_hosts_are_real_and_closed(lab: Lab) -> None:
    assert_well(lab)
    entry = lab.outputs()["hosts"][0]
    assert set(entry) >= {"name", "address", "ssh_user", "ssh_port", "host_key", "node_id", "roles", "rack"}
    assert (entry["name"], entry["node_id"], entry["roles"]) == ("broker-1", 1, ["kafka_broker", "kafka_controller"])
    shadow = lab.ssh("broker-1", "sudo grep -E '^(root|ops):' /etc/shadow | cut -d: -f2")
    assert shadow.split() == ["*", "*"]
    sshd = lab.ssh("broker-1", "sudo sshd -T")
    for wanted in ("permitrootlogin no", "passwordauthentication no", "kbdinteractiveauthentication no"):
        assert wanted in sshd
    argv = ssh_argv(lab.login(entry["address"]), "true")
    refused = subprocess.run(
        [word.replace("ops@", "root@") for word in argv], capture_output=True, text=True, check=False
    )
    assert refused.returncode != 0
    assert "Permission denied" in refused.stderr


def test_disk_and_memory_are_what_was_asked(lab: Lab) -> None:
    kib = int(lab.ssh("broker-1", "df --output=size -k /var/lib/kafka | tail -n 1"))
    assert 3.8 * 2**20 < kib <= 4 * 2**20
    limits = lab.ssh(
        "broker-1", "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null", check=False
    )
    assert limits.split() == [str(1536 * 2**20)]


def test_a_full_disk_is_full(lab: Lab) -> None:
    said = lab.ssh("broker-2", "sudo fallocate -l 5G /var/lib/kafka/much 2>&1; sudo rm -f /var/lib/kafka/much")
    assert "No space left on device" in said


def test_host_keys_are_pinned(lab: Lab) -> None:
    """A host that answers with another key is not spoken to."""
    first, second = lab.outputs()["hosts"][:2]
    known = lab.state() / "known_hosts"
    truth = known.read_text()
    known.write_text(truth.replace(first["host_key"], second["host_key"]))
    refused = lab.kastellan("ssh", "broker-1", "true", check=False)
    assert refused.returncode != 0
    assert "Host key verification failed" in refused.stderr
    # A path of its own: the connection that `up` opened is still good, it was checked when it was made.
    fresh = ["-e", "ansible_control_path=%(directory)s/fresh"]
    assert "Host key verification failed" in lab.native("ansible", "-m", "ping", "broker-1", *fresh, check=False).stdout
    lab.native("pulumi", "up", "--refresh", "--yes", "--skip-preview")  # what was changed behind its back is mended
    assert known.read_text() == truth


def test_second_up_changes_nothing_and_git_stays_clean(lab: Lab) -> None:
    before = started(lab)
    said = lab.kastellan("up", "--until", "hosts").stdout
    assert "13 unchanged" in said
    assert started(lab) == before
    assert lab.run("git", "status", "--porcelain").stdout == ""


def test_native_commands(lab: Lab) -> None:
    assert "13 unchanged" in lab.native("pulumi", "preview").stdout
    assert "local" in lab.native("pulumi", "stack", "ls").stdout
    graph = lab.native("ansible-inventory", "--graph").stdout
    assert "@kafka_controller:" in graph
    variables = json.loads(lab.native("ansible-inventory", "--host", "broker-3").stdout)
    assert variables["kafka_node_id"] == 3
    assert "StrictHostKeyChecking=yes" in variables["ansible_ssh_common_args"]
    assert lab.native("ansible", "-m", "ping", "all").stdout.count("SUCCESS") == 4


def test_ssh_passes_the_exit_code_on(lab: Lab) -> None:
    assert lab.kastellan("ssh", "broker-4", "echo $USER; exit 7", check=False).returncode == 7


def test_one_more_host_and_back_touches_only_it(lab: Lab) -> None:
    before = started(lab)
    lab.native("pulumi", "config", "set", "--path", "kastellan:groups.extra.count", "1")
    said = lab.native("pulumi", "up", "--yes", "--skip-preview").stdout
    assert "broker-5" in said
    assert lab.hosts() == ["broker-1", "broker-2", "broker-3", "broker-4", "broker-5"]
    assert lab.outputs()["hosts"][4]["roles"] == ["kafka_broker"]
    assert {host: pids for host, pids in started(lab).items() if host != "broker-5"} == before
    lab.native("pulumi", "config", "set", "--path", "kastellan:groups.extra.count", "0")
    lab.kastellan("up", "--until", "hosts")
    assert started(lab) == before
    assert not (lab.state() / "machines" / "broker-5").exists()


def test_more_memory_and_disk_in_place(lab: Lab) -> None:
    before = started(lab)
    lab.native("pulumi", "config", "set", "--path", "kastellan:groups.broker.memory", "1792MiB")
    lab.native("pulumi", "config", "set", "--path", "kastellan:groups.broker.disk", "5GiB")
    preview = lab.native("pulumi", "preview").stdout
    assert preview.count("kastellan:Host broker-") == 4
    assert "replace" not in preview
    lab.native("pulumi", "up", "--yes", "--skip-preview")
    assert (started(lab) == before) == may_grow_mounted()  # else they were shut down for it
    kib = int(lab.ssh("broker-3", "df --output=size -k /var/lib/kafka | tail -n 1"))
    assert kib > 4.8 * 2**20
    assert str(1792 * 2**20) in lab.ssh(
        "broker-3", "cat /sys/fs/cgroup/memory*/memory.limit_in_bytes /sys/fs/cgroup/memory.max", check=False
    )
    assert_marks(lab)


def test_a_smaller_disk_says_that_it_replaces(lab: Lab) -> None:
    lab.native("pulumi", "config", "set", "--path", "kastellan:groups.broker.disk", "3GiB")
    try:
        preview = lab.native("pulumi", "preview", "--diff")
    finally:
        lab.native("pulumi", "config", "set", "--path", "kastellan:groups.broker.disk", "5GiB")
    reason = "disk_bytes replaces it: a file system in use cannot shrink (5GiB to 3GiB); its data goes with it"
    assert (preview.stdout + preview.stderr).count(reason) == 4
    assert "13 unchanged" in lab.native("pulumi", "preview").stdout


def test_a_rebooted_host_comes_back(lab: Lab) -> None:
    """From inside; systemd-nspawn ends at a reboot, the supervisor must start it again."""
    boot = lab.ssh("broker-2", "stat -c %Y /proc/1")
    lab.ssh("broker-2", "sudo systemctl reboot", check=False)
    assert wait_until(lambda: lab.ssh("broker-2", "stat -c %Y /proc/1", check=False) not in {"", boot}, timeout_s=60)
    assert_well(lab)
    assert_marks(lab)


def test_a_killed_host_is_seen_and_mended(lab: Lab) -> None:
    (pid,) = lab.supervisors("broker-3")
    subprocess.run(["kill", "-KILL", str(pid)], check=True)
    assert wait_until(lambda: not lab.processes("broker-3"), timeout_s=20)
    told = lab.kastellan("status", "--json", check=False)
    assert told.returncode == 1
    assert [host["name"] for host in json.loads(told.stdout)["hosts"] if not host["well"]] == ["broker-3"]
    others = {host: pids for host, pids in started(lab).items() if host != "broker-3"}
    lab.native("pulumi", "up", "--refresh", "--yes", "--skip-preview")
    assert {host: pids for host, pids in started(lab).items() if host != "broker-3"} == others
    assert_well(lab)
    assert_marks(lab)


def test_after_a_power_cut_all_come_back_with_their_data(lab: Lab) -> None:
    lab.power_cut()
    mounts = machine_view(lab)["mounts"]
    assert not any(str(lab.folder) in mount for mount in mounts)
    assert not any(str(lab.folder) in loop for loop in machine_view(lab)["loops"])
    lab.native("pulumi", "up", "--refresh", "--yes", "--skip-preview")
    assert_well(lab)
    assert_marks(lab)


def test_a_bridge_that_was_not_yet_up_is_raised(lab: Lab) -> None:
    """As a call leaves it that was killed in between: with its address, and no packet passes."""
    before = started(lab)
    lab.run("ip", "link", "set", f"kst-{lab.stack_id()}", "down")
    lab.kastellan("up", "--until", "hosts")
    assert started(lab) == before
    assert_well(lab)


def test_a_second_stack_stands_beside(lab: Lab) -> None:
    before = started(lab)
    with lab.described("local-two", count=1, memory="512MiB", disk="256MiB"):
        lab.kastellan("up", "local-two", "--until", "hosts")
        assert_well(lab, "local-two", count=1)
        assert lab.outputs("local-two")["network"] != lab.outputs()["network"]
        lab.kastellan("down", "local-two", "--yes")
    assert registry.record_of(lab.stack_id("local-two")) is None
    assert started(lab) == before


@pytest.mark.parametrize("how", ["down", "destroy"])
def test_nothing_is_left_behind(how: str) -> None:
    with new_lab() as lab:
        lab.kastellan("env")  # prepares what a checkout keeps
        lab.describe("local", count=2)
        before = machine_view(lab)
        lab.kastellan("up", "--until", "hosts")
        assert machine_view(lab) != before
        if how == "down":
            lab.kastellan("down", "--yes")
            assert not lab.state().exists()
        else:
            lab.native("pulumi", "destroy", "--yes", "--skip-preview")
        wait_for_quiet(lab)
        after = machine_view(lab)
        assert {kind: after[kind] - before[kind] for kind in before} == {kind: set() for kind in before}


def test_two_clones_side_by_side(lab: Lab) -> None:
    """The same stack's name in another checkout is another stack."""
    before = started(lab)
    with new_lab() as other:
        other.describe("local", count=1, memory="512MiB", disk="256MiB")
        other.kastellan("up", "--until", "hosts")
        assert_well(other, count=1)
        assert other.outputs()["network"] != lab.outputs()["network"]
        lab.kastellan("status")
        other.kastellan("down", "--yes")
    assert started(lab) == before
    assert_well(lab)
