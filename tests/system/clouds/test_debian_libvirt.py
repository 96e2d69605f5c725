"""A stack on Debian's own libvirt, with the plugin that is built here: a real Debian under emulation, that boots, reads its
first-boot settings and is logged into. One life, told in order.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from common.ssh import ssh_argv
from tests.system.clouds.debian_libvirt.guests import DebianLibvirt, debian_libvirt
from tests.system.lab import Lab, new_lab
from tests.unit.infra.test_libvirt import described
from tools.debian import install
from tools.pulumi.plugins import ensure_plugin

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200)]
STACK = "libvirt"
LABEL = "kastellan-libvirt"
GUEST = f"{LABEL}-broker-1"
ADDRESS = "10.71.0.11"
# Emulated, a Debian takes minutes to boot, and each task of Ansible seconds.
LOGIN_TIMEOUT_S = 1800
UP_TIMEOUT_S = 2400
PLAY_TIMEOUT_S = 1800
ASK_TIMEOUT_S = 180
PLAY = """
- name: Host and Java
  hosts: kafka
  become: true
  gather_facts: false
  tasks:
    - name: Host
      ansible.builtin.import_role:
        name: kastellan.kafka.host
      vars:
        host_entries: [{name: broker-1, address: 10.71.0.11}]
        host_firewall_rules: []
    - name: Java
      ansible.builtin.import_role:
        name: kastellan.kafka.java
"""


class Guests:
    """A checkout whose stack `libvirt` is on Debian's libvirt."""

    def __init__(self, lab: Lab, libvirt: DebianLibvirt) -> None:
        self.lab = lab
        self.libvirt = libvirt
        native = {name: value for name, value in lab.native_environ().items() if not name.startswith("LIBVIRT_")}
        self.environ = {**native, "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}
        print(f"Plugin: {ensure_plugin('libvirt', self.environ)}")

    def begin(self, stack: str, **changes: Any) -> None:
        self.describe(stack, **changes)
        self.pulumi("stack", "init", stack)
        self.pulumi("config", "set", "libvirt:uri", self.libvirt.uri, "--stack", stack)

    def describe(self, stack: str = STACK, **changes: Any) -> None:
        told = {
            "cloud__image": str(self.libvirt.image), "cloud__domain_type": "qemu", "cloud__name_servers": [],
            "cloud__login_timeout_s": LOGIN_TIMEOUT_S, "groups__broker__count": 1, "groups__broker__cpus": 2,
            "groups__broker__memory": "1536MiB", "groups__broker__disk": "1GiB", **changes,
        }  # fmt: skip
        (self.lab.folder / f"infra/stacks/{stack}.yaml").write_text(yaml.safe_dump(described(**told)))

    def run(self, *words: str, timeout_s: float, check: bool = True) -> Any:
        done = subprocess.run(
            self.libvirt.argv(*words), cwd=self.lab.folder, env=self.environ, capture_output=True, text=True,
            timeout=timeout_s, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if check and done.returncode != 0:
            pytest.fail(f"{words}\n{done.stdout}\n{done.stderr}\n{self.libvirt.complaints()}")
        return done

    def pulumi(self, *words: str, check: bool = True) -> Any:
        return self.run("pulumi", *words, "--non-interactive", timeout_s=UP_TIMEOUT_S, check=check)

    def up(self, *words: str, stack: str = STACK, check: bool = True) -> Any:
        return self.pulumi("up", "--yes", "--skip-preview", "--stack", stack, *words, check=check)

    def destroy(self, stack: str) -> None:
        self.pulumi("destroy", "--yes", "--skip-preview", "--stack", stack)

    def urn_of(self, kind: str, name: str) -> str:
        exported = json.loads(self.pulumi("stack", "export", "--stack", STACK).stdout)
        urns = [str(kept["urn"]) for kept in exported["deployment"]["resources"]]
        (urn,) = [urn for urn in urns if urn.endswith(f"{kind}::{name}")]
        return urn

    def ssh(self, command: str, *, check: bool = True) -> Any:
        """As `ops`, by the stack's own key, checked against the key that was known before the guest was."""
        return self.run(*ssh_argv(self.lab.login(ADDRESS, STACK), command), timeout_s=ASK_TIMEOUT_S, check=check)

    def said(self, command: str) -> str:
        return str(self.ssh(command).stdout).strip()


@pytest.fixture(scope="module")
def guests() -> Iterator[Guests]:
    if not shutil.which("mkisofs"):
        install(["genisoimage"])  # as `./kastellan up` does it
    with new_lab() as lab, debian_libvirt() as libvirt:
        lab.kastellan("test", "--help")  # prepares the packages, those for clouds too
        yield Guests(lab, libvirt)


def test_an_image_that_reads_no_settings_is_never_success(guests: Guests) -> None:
    """What cannot be known before it boots."""
    blank = {"cloud__image": str(guests.libvirt.blank), "cloud__login_timeout_s": 20, "keep_data": False}
    guests.begin("blank", network="10.72.0.0/24", **blank)
    refused = guests.up(stack="blank", check=False)
    assert refused.returncode != 0
    assert "broker-1 is there, but ops@10.72.0.11 does not let us in." in refused.stdout
    assert "Is the image one with cloud-init" in refused.stdout
    assert guests.up(stack="blank", check=False).returncode != 0
    guests.destroy("blank")
    assert guests.libvirt.guests() == []


def test_a_guest_boots_and_lets_us_in_by_the_key_it_was_given(guests: Guests) -> None:
    guests.begin(STACK)
    guests.up()
    (host,) = guests.lab.outputs(STACK)["hosts"]
    assert (host["name"], host["address"], host["ssh_user"]) == ("broker-1", ADDRESS, "ops")
    assert (guests.lab.state(STACK) / "known_hosts").read_text() == f"{ADDRESS} {host['host_key']}\n"
    assert guests.said("id -un; hostname") == "ops\nbroker-1"
    assert guests.said("sudo cloud-init status") == "status: done"
    own = guests.said("sudo cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub; ls /etc/ssh/ssh_host_*_key")
    assert own.splitlines() == [host["host_key"], "/etc/ssh/ssh_host_ed25519_key"]


def test_nobody_else_gets_in(guests: Guests) -> None:
    login = guests.lab.login(ADDRESS, STACK)
    argv = [word.replace(f"ops@{ADDRESS}", f"root@{ADDRESS}") for word in ssh_argv(login, "true")]
    refused = guests.run(*argv, timeout_s=ASK_TIMEOUT_S, check=False)
    assert "Permission denied" in refused.stderr
    assert guests.said("sudo passwd --status ops | cut -d' ' -f2") == "L"
    assert guests.said("getent passwd | awk -F: '$3 >= 1000 && $3 < 60000 {print $1}'") == "ops"
    settings = guests.said("sudo sshd -T | grep -E '^(passwordauthentication|permitrootlogin) '")
    assert sorted(settings.splitlines()) == ["passwordauthentication no", "permitrootlogin no"]
    assert "169.254.169.254" in guests.said("sudo nft list table inet kastellan_metadata")


def test_the_data_disk_is_there_and_of_its_size(guests: Guests) -> None:
    source, kind, size = guests.said("findmnt --noheadings --bytes --output SOURCE,FSTYPE,SIZE /var/lib/kafka").split()
    assert (source, kind) == ("/dev/vdb", "ext4")
    assert 0.9 * 2**30 < int(size) < 2**30
    guests.said("echo kept | sudo tee /var/lib/kafka/kept && sync")


def test_a_second_up_changes_nothing(guests: Guests) -> None:
    guests.up("--expect-no-changes")
    guests.up("--refresh", "--expect-no-changes")


def test_the_roles_of_hosts_fit_it(guests: Guests) -> None:
    play = guests.lab.folder / ".kastellan/host-and-java.yml"
    play.write_text(PLAY)
    for changed in (True, False):
        argv = ("ansible-playbook", "-i", f"inventories/{STACK}", str(play))
        said = guests.run(*argv, timeout_s=PLAY_TIMEOUT_S).stdout
        assert ("changed=0" not in said) is changed, said
    assert guests.said("cat /proc/sys/vm/swappiness") == "1"
    assert "broker-1" in guests.said(f"getent hosts {ADDRESS}")
    assert 'version "17' in guests.said("java -version 2>&1")
    assert "kastellan" in guests.said("sudo nft list tables")


def test_a_guest_made_anew_keeps_its_disk_and_its_key(guests: Guests) -> None:
    before = guests.said("cat /etc/machine-id")
    anew = [guests.urn_of("Volume", "broker-1-root"), guests.urn_of("Domain", "broker-1")]
    guests.up(*(word for urn in anew for word in ("--replace", urn)))
    assert guests.said("cat /etc/machine-id") != before
    assert guests.said("cat /var/lib/kafka/kept") == "kept"
    guests.up("--expect-no-changes")


def test_a_guest_deleted_behind_our_back_comes_again(guests: Guests) -> None:
    guests.libvirt.virsh("destroy", GUEST)
    guests.libvirt.virsh("undefine", GUEST)
    guests.up("--refresh")
    assert guests.libvirt.guests() == [GUEST]
    assert guests.said("cat /var/lib/kafka/kept") == "kept"


def test_another_size_of_a_disk_is_refused(guests: Guests) -> None:
    for size, said in (("2GiB", "has 1GiB, 2GiB are asked for"), ("1025MiB", "is no whole number of GiB")):
        guests.describe(groups__broker__disk=size)
        refused = guests.up(check=False)
        assert refused.returncode != 0
        assert said in refused.stdout
    guests.describe()


def test_kept_data_is_not_destroyed_and_all_goes_when_it_is_said(guests: Guests) -> None:
    down = guests.lab.kastellan("down", STACK, "--yes", check=False)
    assert "Stack libvirt keeps its data: 1 volumes are protected." in down.stderr
    assert f"{GUEST}-data" in guests.libvirt.volumes(LABEL)
    guests.describe(keep_data=False)
    guests.up()
    guests.destroy(STACK)
    assert guests.libvirt.guests() == []
    assert guests.libvirt.virsh("pool-list", "--all", "--name") == ""
