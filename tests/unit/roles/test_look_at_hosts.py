"""What rules decide by is seen on the host itself: ports, disks, memory, an installed Kafka, kernel settings."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from plugins.module_utils import host_kernel, node_look

if TYPE_CHECKING:
    from collections.abc import Iterator

META = "#comment\nversion=1\ncluster.id=abc=\nnode.id=3\ndirectory.id=dir\n"


@pytest.fixture
def port() -> Iterator[int]:
    """One on which this very process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_taken_port_is_seen_with_who_listens_there(port: int) -> None:
    (owner,) = node_look.ports_taken([port], unit_pid=0).values()
    assert owner in Path("/proc/self/stat").read_text(encoding="ascii")


def test_our_own_service_takes_no_port_from_us(port: int) -> None:
    assert node_look.ports_taken([port], unit_pid=os.getpid()) == {}
    assert node_look.ports_taken([1], unit_pid=0) == {}


def test_room_is_that_of_the_disk_on_which_a_folder_will_lie(tmp_path: Path) -> None:
    assert abs(node_look.free_mib(str(tmp_path / "not" / "yet")) - node_look.free_mib(str(tmp_path))) < 512
    assert node_look.free_mib("/proc/nothing") == 0


def test_memory_is_the_least_of_machine_and_container() -> None:
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    assert 0 < node_look.memory_mib() <= machine


@pytest.mark.parametrize(("limit", "expected"), [("max", 4096), (f"{1536 * 2**20}", 1536), (f"{2**50}", 4096)])
def test_a_container_may_have_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, expected: int) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 4194304 kB\nMemFree: 1 kB\n", encoding="ascii")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory.max").write_text(f"{limit}\n", encoding="ascii")
    monkeypatch.setattr(node_look, "Path", lambda path: tmp_path / str(path).lstrip("/"))
    assert node_look.memory_mib() == expected


def test_a_disk_says_whose_it_is(tmp_path: Path) -> None:
    nothing = {"path": str(tmp_path), "formatted": False, "started": False}
    assert node_look.disk(str(tmp_path)) == nothing
    (tmp_path / "meta.properties").write_text(META, encoding="ascii")
    whose = {"formatted": True, "cluster_id": "abc=", "node_id": 3, "directory_id": "dir"}
    assert node_look.disk(str(tmp_path)) == nothing | whose
    (tmp_path / "__cluster_metadata-0").mkdir()
    (tmp_path / "__cluster_metadata-0" / "quorum-state").touch()
    assert node_look.disk(str(tmp_path))["started"] is True


def test_an_installation_is_compared_file_by_file(tmp_path: Path) -> None:
    assert node_look.install_problems(str(tmp_path / "none"), {}) == ["not installed"]
    (tmp_path / "libs").mkdir()
    manifest = {f"libs/{name}": hashlib.sha256(name.encode()).hexdigest() for name in ("a.jar", "b.jar", "c.jar")}
    for name, text in {"a.jar": "a.jar", "b.jar": "another", "foreign.jar": ""}.items():
        (tmp_path / "libs" / name).write_text(text, encoding="ascii")
    assert node_look.install_problems(str(tmp_path), manifest) == [
        "libs/b.jar was changed",
        "libs/c.jar is missing",
        "libs/foreign.jar does not belong there",
    ]


@pytest.mark.parametrize(
    ("said", "major"), [('openjdk version "17.0.9" 2023', 17), ('java version "1.8.0_391"', 8), ("", None)]
)
def test_java_says_which_it_is(monkeypatch: pytest.MonkeyPatch, said: str, major: int | None) -> None:
    monkeypatch.setattr(node_look, "run", lambda _: said)
    assert node_look.java_major("java") == major


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel that lets itself be told."""
    (tmp_path / "vm").mkdir()
    (tmp_path / "vm" / "swappiness").write_text("60\n", encoding="ascii")
    (tmp_path / "vm" / "max_map_count").write_text("262144\n", encoding="ascii")
    monkeypatch.setattr(host_kernel, "Path", lambda _: tmp_path)
    return tmp_path / "vm"


def test_kernel_settings_are_those_of_the_running_kernel(kernel: Path) -> None:
    wanted = {"vm.swappiness": "1", "vm.max_map_count": "262144"}
    diffs, unchangeable = host_kernel.settle(wanted, apply=False)
    assert ([diff["before_header"] for diff in diffs], unchangeable) == (["vm.swappiness"], {})
    assert (kernel / "swappiness").read_text(encoding="ascii") == "60\n"
    assert host_kernel.settle(wanted, apply=True) == (diffs, {})
    assert (kernel / "swappiness").read_text(encoding="ascii") == "1"
    assert host_kernel.settle(wanted, apply=True) == ([], {})


@pytest.mark.parametrize("apply", [False, True])
def test_what_a_kernel_does_not_let_be_changed_is_reported_and_no_error(*, apply: bool) -> None:
    """By this machine's own kernel, of a file that nobody may write to."""
    release = os.uname().release
    wanted = {"kernel.osrelease": "another", "kernel.nothing_of_that_name": "1"}
    assert host_kernel.settle(wanted, apply=apply) == (
        [],
        {"kernel.osrelease": release, "kernel.nothing_of_that_name": "not there"},
    )


ROOT = Path(__file__).resolve().parents[3]
# What the task needs besides the role's defaults, and what comes back of each host, as one host sees it.
LOOK = """
- hosts: all
  gather_facts: false
  vars:
    __{role}_version_dir: /none
    __{role}_manifest: {{}}
    __{role}_unit: none.service
  roles: [{role}]
  tasks:
    - ansible.builtin.copy:
        dest: "{{{{ out }}}}"
        mode: "0600"
        content: "{{{{ dict(groups['all'] | zip(groups['all'] | map('extract', hostvars, ['__{role}_seen', 'node', 'heap']))) }}}}"
      run_once: true
"""


@pytest.mark.parametrize("role", ["kafka", "zookeeper"])
def test_every_hosts_own_heap_is_known_to_the_one_that_judges(role: str, tmp_path: Path) -> None:
    """Also one that is made of the role's defaults, which no other host sees."""
    heaps = {"one": f"{{{{ {role}_memory_min_mib // 2 }}}}m", "two": "300m"}
    hosts = {"three": {}, **{name: {f"{role}_heap_size": heap} for name, heap in heaps.items()}}
    common = {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": common}}), encoding="utf-8")
    tasks = yaml.safe_load((ROOT / f"roles/{role}/tasks/preflight.yml").read_text(encoding="utf-8"))
    look = [task for task in tasks if "kastellan.kafka.node_facts" in task]
    look[0]["kastellan.kafka.node_facts"] |= {"data_dirs": [], "ports": []}
    (tmp_path / f"roles/{role}/tasks").mkdir(parents=True)
    (tmp_path / f"roles/{role}/tasks/main.yml").write_text(yaml.safe_dump(look), encoding="utf-8")
    (tmp_path / f"roles/{role}/defaults").symlink_to(ROOT / f"roles/{role}/defaults")
    collections = tmp_path / "collections/ansible_collections/kastellan"
    collections.mkdir(parents=True)
    (collections / "kafka").symlink_to(ROOT)
    (tmp_path / "play.yml").write_text(LOOK.format(role=role), encoding="utf-8")
    done = subprocess.run(
        ["ansible-playbook", "-i", "hosts.yml", "play.yml", "-e", json.dumps({"out": str(tmp_path / "heaps.json")})],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"), "ANSIBLE_NOCOWS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    defaults = yaml.safe_load((ROOT / f"roles/{role}/defaults/main.yml").read_text(encoding="utf-8"))
    assert json.loads((tmp_path / "heaps.json").read_text(encoding="utf-8")) == {
        "one": f"{defaults[f'{role}_memory_min_mib'] // 2}m",
        "two": "300m",
        "three": defaults[f"{role}_heap_size"],
    }
