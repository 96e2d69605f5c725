"""Role spark as far as it needs no hosts: what its variables and templates become, and what it carries to hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from plugins.filter import spark as filters
from tests.spark import standalone
from tools.spark import bundle
from validate import pack

ROOT = Path(__file__).resolve().parents[3]
INVENTORY = """
all:
  vars: {kastellan_state_dir: /s, ansible_connection: local, ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  children:
    spark:
      children:
        spark_master: {hosts: {spark-master-1: {ansible_host: 198.18.0.31}}}
        spark_worker: {hosts: {spark-worker-1: {ansible_host: 198.18.0.41}, spark-worker-2: {ansible_host: 198.18.0.42}}}
"""
PLAY = """
- hosts: spark
  gather_facts: false
  vars_files: ["{{ root }}/roles/spark/defaults/main.yml", "{{ root }}/roles/spark/vars/main.yml"]
  vars:
    __spark_bundled: {stdout: '{"name": "spark-4", "archive": "/c/spark-4.tar", "marker": "unpacked"}'}
    __spark_secrets: {passwords: {spark-cluster: hush}}
    __spark_switched: {changed: false}
    __spark_configured: {changed: false}
    __spark_set: {changed: false}
    __spark_units_written: {changed: "{{ inventory_hostname == 'spark-worker-2' }}"}
    __spark_service:
      results: [{__spark_daemon: master, restart_needed: false}, {__spark_daemon: worker, restart_needed: true}]
  tasks:
    - ansible.builtin.copy:
        dest: "{{ out }}/{{ inventory_hostname }}.json"
        mode: "0600"
        content: "{{ found | to_json }}"
      vars:
        role_path: "{{ root }}/roles/spark"
        spark_shared_dir: /s/shared
        __spark_daemon: "{{ __spark_daemons | first }}"
        unit: "{{ (__spark_unit_files | first).content }}"
        found:
          unit: "{{ unit }}"
          name: "{{ __spark_unit }}"
          rules: "{{ __spark_firewall_rules }}"
          defaults: "{{ __spark_defaults }}"
          of_drivers: "{{ __spark_of_drivers }}"
          problems: "{{ __spark_inventory_problems }}"
          own_folders: "{{ __spark_own_folders }}"
          install_folders: "{{ __spark_install_folders }}"
          files: "{{ __spark_files }}"
          unit_files: "{{ __spark_unit_files }}"
          witness: "{{ __spark_witness }}"
          reset_paths: "{{ __spark_reset_paths }}"
          changed: "{{ __spark_written | selectattr('changed') | length > 0 }}"
          to_restart: "{{ __spark_to_restart }}"
          entries: "{{ __spark_host_entries }}"
"""
# Tasks that the drift report of no host has, and why.
UNHEARD = {
    "Unpack Spark": "not in check mode: of another version tell its folder and the link to it",
    "Write the settings of drivers on this machine": "of no host: told once, for all of them",
    "Make changed settings count": "it runs handlers",
    "Wait until the daemons listen": "it changes nothing",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("spark")
    collections = folder / "collections" / "ansible_collections" / "kastellan"
    collections.mkdir(parents=True)
    (collections / "kafka").symlink_to(ROOT)
    (folder / "templates").symlink_to(ROOT / "roles/spark/templates")
    (folder / "hosts.yml").write_text(INVENTORY, encoding="utf-8")
    (folder / "play.yml").write_text(PLAY, encoding="utf-8")
    done = subprocess.run(
        ["ansible-playbook", "-i", "hosts.yml", "play.yml", "-e", f"root={ROOT}", "-e", f"out={folder}"],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"), "ANSIBLE_NOCOWS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("spark-*.json")}


def tasks(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / f"roles/spark/tasks/{name}.yml").read_text(encoding="utf-8"))
    return found


def test_each_daemon_has_a_unit_that_starts_it_as_user_spark(told: dict[str, Any]) -> None:
    master, worker = told["spark-master-1"], told["spark-worker-2"]
    assert (master["name"], worker["name"]) == ("spark-master.service", "spark-worker.service")
    assert "Master --host 198.18.0.31 --port 7077 " in master["unit"]
    assert "Worker --host 198.18.0.42 --port 7078 " in worker["unit"]
    assert "spark://198.18.0.31:7077" in worker["unit"]
    for one in (master, worker):
        assert "\nUser=spark\n" in one["unit"]
        assert "\nReadWritePaths=/var/lib/spark/work /var/log/spark\n" in one["unit"]
        assert "\nBindPaths=/s/shared\n" in one["unit"], "seen below what is hidden: homes, /tmp, /var/tmp"
        assert "\nProtectSystem=strict\n" in one["unit"]
        assert "\nRestrictSUIDSGID=yes\n" not in one["unit"], "Hadoop could not set modes below a setgid folder"
        assert "hush" not in one["unit"], "the secret is no word of a command line"
        assert "{{" not in one["unit"]
        assert one["problems"] == []


def test_the_secret_is_in_settings_alone_and_turns_authentication_on(told: dict[str, Any]) -> None:
    lines = told["spark-worker-1"]["defaults"].splitlines()
    assert {"spark.authenticate true", "spark.authenticate.secret hush", "spark.network.crypto.enabled true"} <= set(
        lines
    )


def test_drivers_are_told_the_same_and_where_the_master_is(told: dict[str, Any]) -> None:
    one = told["spark-worker-1"]
    assert one["of_drivers"].removeprefix(one["defaults"]) == "# spark://198.18.0.31:7077\n"


def test_tasks_that_are_told_a_secret_are_not_logged(told: dict[str, Any]) -> None:
    """What a module is told stands in the journal of its host."""
    assert all("hush" not in json.dumps([one["files"], one["unit_files"]]) for one in told.values())
    told_one = []
    for path in sorted((ROOT / "roles").glob("*/tasks/*.yml")):
        for task in yaml.safe_load(path.read_text(encoding="utf-8")):
            files = task.get("kastellan.kafka.managed_files", {}).get("files", "")
            if isinstance(files, list) and any(entry.get("secret") for entry in files):
                told_one.append((str(path.relative_to(ROOT)), task["name"], task.get("no_log")))
    assert len([path for path, _, _ in told_one if "/spark/" in path]) == 2
    assert [one for one in told_one if one[2] is not True] == []


def test_a_daemon_s_witness_is_all_that_it_is_started_with(told: dict[str, Any]) -> None:
    worker = told["spark-worker-1"]
    for name in (
        "/etc/spark/spark-defaults.conf", "/etc/spark/log4j2.properties", "/etc/systemd/system/spark-worker.service",
        "/etc/systemd/system/spark-worker.service.d/*.conf", "/opt/spark/current",
    ):  # fmt: skip
        assert name in re.split(r"[ ;]", worker["witness"]), name
    assert f"{{ {worker['witness']}; }} > /run/spark-worker/started-with" in worker["unit"]
    assert worker["unit_files"][1]["path"] == "/etc/systemd/system/spark-worker.service.d"


def test_a_changed_unit_counts_and_restarts_its_daemon_alone(told: dict[str, Any]) -> None:
    assert (told["spark-worker-1"]["changed"], told["spark-worker-2"]["changed"]) == (False, True)
    assert told["spark-worker-2"]["to_restart"] == ["worker"]
    enable = next(task for task in tasks("service") if "kastellan.kafka.kafka_service" in task)
    assert enable["kastellan.kafka.kafka_service"]["config_changed"] == (
        "{{ __spark_written | selectattr('changed') | length > 0 }}"
    )
    registered = {task.get("register") for phase in ("install", "configure") for task in tasks(phase)}
    assert {"__spark_switched", "__spark_configured", "__spark_set", "__spark_units_written"} <= registered


def test_current_leads_to_what_lies_there_whole(told: dict[str, Any]) -> None:
    assert [task["name"] for task in tasks("main")] == ["Install", "Configure", "Service"]
    folders, unpack, switch = tasks("install")
    assert "ansible.builtin.unarchive" in unpack
    assert switch["kastellan.kafka.managed_files"]["files"][0]["state"] == "link"
    before = json.dumps([folders, told["spark-worker-1"]["install_folders"]])
    assert "spark_current" not in before
    assert "link" not in before
    assert "/opt/spark/versions/spark-4" in before
    assert not [entry for entry in told["spark-worker-1"]["files"] if entry.get("state") == "link"]


def test_a_reset_leaves_nothing_of_spark_on_a_host(told: dict[str, Any]) -> None:
    worker = told["spark-worker-1"]
    gone = [Path(path) for path in worker["reset_paths"]]
    for entry in [*worker["files"], *worker["unit_files"], *worker["install_folders"]]:
        assert any(Path(entry["path"]).is_relative_to(path) for path in gone), entry["path"]
    assert Path("/s/shared") not in gone, "ledgers are no part of a cluster"


def test_ports_are_open_where_something_listens(told: dict[str, Any]) -> None:
    assert told["spark-master-1"]["rules"] == [{"ports": [7077], "sources": []}]
    assert told["spark-worker-1"]["rules"] == [{"ports": [7078, *range(7079, 7095)], "sources": []}]
    assert {"name": "spark-worker-2", "address": "198.18.0.42"} in told["spark-master-1"]["entries"]


def test_the_bundle_holds_spark_and_what_tasks_import(tmp_path: Path) -> None:
    found = dict(bundle.contents())
    assert {"spark/bin/spark-class", "spark/python/lib/pyspark.zip", "site/pyarrow/__init__.py"} <= set(found)
    assert any(place.startswith("site/confluent_kafka.libs/librdkafka") for place in found)
    assert any(place.startswith("spark/jars/spark-core") for place in found)
    assert not [place for place in found if ".." in place or not place.startswith(("spark/", "site/"))]
    small = [
        (place, path) for place, path in found.items() if place in {"spark/bin/spark-class", "site/pyarrow/__init__.py"}
    ]
    for name in ("one.tar", "other.tar"):
        bundle.write(tmp_path / name, iter(small))
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "other.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as tar:
        assert tar.getnames()[-1] == bundle.MARKER
        assert tar.getmember("spark/bin/spark-class").mode & 0o111


def test_the_umask_that_made_this_environment_is_not_in_the_bundle(tmp_path: Path) -> None:
    for name, mode in {"script": 0o700, "text": 0o600, "other-script": 0o775, "other-text": 0o664}.items():
        (tmp_path / name).write_text("", encoding="utf-8")
        (tmp_path / name).chmod(mode)
    bundle.write(tmp_path / "made.tar", ((f"site/a/{path.name}", path) for path in sorted(tmp_path.glob("*t"))))
    with tarfile.open(tmp_path / "made.tar") as tar:
        modes = {entry.name: f"{entry.mode:o}" for entry in tar.getmembers()}
    assert modes == {
        "site": "755", "site/a": "755", "site/a/other-script": "755", "site/a/other-text": "644",
        "site/a/script": "755", "site/a/text": "644", bundle.MARKER: "644",
    }  # fmt: skip


def test_another_form_of_the_tar_has_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(bundle, "contents", lambda: iter([("site/a", Path(__file__))]))
    first = bundle.ensure()
    monkeypatch.setattr(bundle, "MODES", {True: 0o555, False: 0o444})
    second = bundle.ensure()
    assert first["name"] != second["name"]
    assert (first["made"], second["made"]) == (True, True)


def test_drift_counts_every_task_of_spark_and_names_its_host() -> None:
    """Of both groups, also a task's items; what nothing would have changed is not said."""
    path = "/etc/spark/log4j2.properties"
    hostvars: dict[str, Any] = {
        "spark-master-1": {
            "__spark_configured": {
                "changed": True, "diff": [{"before_header": path, "before": "a=1", "after": "a=1\nb=2"}],
            },
            "__spark_set_here": {"changed": True, "changed_files": ["/state/spark/spark-defaults.conf"]},
            "__spark_shared": {"changed": False, "skipped": True},
        },
        "spark-worker-1": {
            "__spark_units_written": {"changed": True, "results": [{"changed": True, "changed_files": ["/u"]}]},
            "__spark_service": {"changed": True, "results": [{"changed": False}, {"changed": True, "plan": ["start it"]}]},
            "__spark_set_here": {"changed": True, "changed_files": ["/state/spark/spark-defaults.conf"]},
        },
        "spark-worker-2": {"__spark_service": {"changed": False, "results": [{"changed": False}]}},
    }  # fmt: skip
    assert filters.spark_drift(list(hostvars), hostvars) == [
        f"spark-master-1: settings: {path} (-b=2)",
        "spark-worker-1: unit: /u",
        "spark-worker-1: service: start it",
        "settings of Spark's drivers here: /state/spark/spark-defaults.conf",
    ]
    differs = (ROOT / "roles/kafka/vars/main/drift.yml").read_text(encoding="utf-8").partition("__kafka_differs:")[2]
    assert "groups['spark'] | default([]) | kastellan.kafka.spark_drift(hostvars)" in differs


def test_drift_hears_of_every_task_of_spark() -> None:
    settings = yaml.safe_load((ROOT / "roles/host/tasks/settings.yml").read_text(encoding="utf-8"))
    every = [*settings, *(task for phase in ("install", "configure", "service") for task in tasks(phase))]
    unheard = {task["name"] for task in every if task.get("register") not in filters.REGISTERED.values()}
    assert unheard == UNHEARD.keys()
    assert {task.get("register") for task in every} - {None} == {*filters.REGISTERED.values(), "__spark_set_here"}


@pytest.mark.parametrize("ending", ["", ".sha256"])
def test_a_tar_that_was_cut_off_is_packed_again(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(bundle, "contents", lambda: iter([("site/a", Path(__file__))]))
    first = bundle.ensure()
    assert bundle.ensure() == {**first, "made": False}
    whole = Path(str(first["archive"])).read_bytes()
    path = Path(f"{first['archive']}{ending}")
    path.write_bytes(path.read_bytes()[:-1])
    assert bundle.ensure() == {**first, "made": True}
    assert Path(str(first["archive"])).read_bytes() == whole


def test_what_tasks_import_is_named_alike_wherever_it_is_named() -> None:
    linked = {name.removesuffix(".libs").replace("_", "-") for name in standalone.PACKAGES}
    assert set(bundle.PACKAGES) == set(pack.PACKAGES) == linked
