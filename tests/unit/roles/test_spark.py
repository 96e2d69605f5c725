"""Role spark as far as it needs no hosts: what its variables and templates become, and what it carries to hosts."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tools.spark import bundle

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
  tasks:
    - ansible.builtin.copy:
        dest: "{{ out }}/{{ inventory_hostname }}.json"
        mode: "0600"
        content: "{{ found | to_json }}"
      vars:
        role_path: "{{ root }}/roles/spark"
        spark_shared_dir: /s/shared
        __spark_daemon: "{{ __spark_daemons | first }}"
        unit: "{{ lookup('ansible.builtin.template', root ~ '/roles/spark/templates/spark.service.j2') }}"
        found:
          unit: "{{ unit }}"
          units: "{{ __spark_units }}"
          rules: "{{ __spark_firewall_rules }}"
          defaults: "{{ __spark_defaults }}"
          problems: "{{ __spark_inventory_problems }}"
          own_folders: "{{ __spark_own_folders }}"
          entries: "{{ __spark_host_entries }}"
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("spark")
    collections = folder / "collections" / "ansible_collections" / "kastellan"
    collections.mkdir(parents=True)
    (collections / "kafka").symlink_to(ROOT)
    (folder / "hosts.yml").write_text(INVENTORY, encoding="utf-8")
    (folder / "play.yml").write_text(PLAY, encoding="utf-8")
    done = subprocess.run(
        ["ansible-playbook", "-i", "hosts.yml", "play.yml", "-e", f"root={ROOT}", "-e", f"out={folder}"],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"), "ANSIBLE_NOCOWS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("spark-*.json")}


def test_each_daemon_has_a_unit_that_starts_it_as_user_spark(told: dict[str, Any]) -> None:
    master, worker = told["spark-master-1"], told["spark-worker-2"]
    assert (master["units"], worker["units"]) == (["spark-master.service"], ["spark-worker.service"])
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
