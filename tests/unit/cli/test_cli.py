"""The words of the command line, its errors and its looks."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli import down, native, repair, status, surroundings
from cli.__main__ import VERBS, build_parser, main
from cli.locks import dead_locks
from cli.stack import hosts_of
from common.errors import CommandFailed, KastellanError, UsageError
from common.run import run
from infra.providers.nspawn.registry import StackRecord
from tools.pulumi import build, golang

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("verb", [verb.__name__.rpartition(".")[2] for verb in VERBS])
def test_every_verb_has_help_and_stands_in_the_readme(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        build_parser().parse_args([verb, "--help"])
    assert end.value.code == 0
    assert len(capsys.readouterr().out.splitlines()) > 4
    assert f"./kastellan {verb}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("words", [[], ["upp"], ["up", "--until", "never"], ["test", "--fast", "--all"]])
def test_a_wrong_call_ends_with_64(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 64
    assert "--help" in capsys.readouterr().err


def test_an_error_has_three_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "locla"]) == 64
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "Error: There is no stack 'locla'.",
        "  infra/stacks has: aws, libvirt, local, local-spark, local-zookeeper, openstack, static.",
        "To do: Did you mean 'local'?",
    ]


def test_doctor_needs_the_standard_library_only() -> None:
    """It runs before anything is prepared, so no import on its way may need a package."""
    code = "import sys; sys.path = [p for p in sys.path if 'site-packages' not in p]; import cli.__main__"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def lock(folder: Path, **changes: Any) -> None:
    content = {"pid": os.getpid(), "hostname": socket.gethostname(), "username": "root", **changes}
    place = folder / "organization/kastellan/local"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{len(list(place.iterdir()))}.json").write_text(json.dumps(content))


def test_only_locks_of_dead_processes_of_this_machine_are_dead(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    lock(tmp_path, pid=ended.pid)
    lock(tmp_path, pid=ended.pid, hostname="another-machine")
    (tmp_path / "organization/kastellan/local/broken.json").write_text("{")
    assert [path.name for path in dead_locks("local", tmp_path)] == ["0.json"]


def test_a_number_that_went_to_another_program_is_dead_and_so_is_a_zombie(tmp_path: Path) -> None:
    """This process is no pulumi; a killed pulumi stays in the list of processes until its parent looks."""
    lock(tmp_path)
    fake = tmp_path / "pulumi"
    fake.symlink_to("/bin/sleep")
    living = subprocess.Popen([fake, "60"])
    zombie = subprocess.Popen([fake, "0"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)  # it has ended and is not yet waited for
    lock(tmp_path, pid=living.pid)
    lock(tmp_path, pid=zombie.pid)
    try:
        assert [path.name for path in dead_locks("local", tmp_path)] == ["0.json", "2.json"]
    finally:
        living.kill()
        living.wait()
        zombie.wait()


@pytest.mark.parametrize(
    ("lines", "well", "state"),
    [
        (["running", "", " 22% /"], True, "running"),
        (["degraded", "kafka.service ", " 22% /"], False, "degraded"),
        (["running", "", " 97% /var/lib/kafka"], False, "disk full"),
        (["starting", "", "  5% /"], False, "starting"),
    ],
)
def test_what_makes_a_host_well(lines: list[str], well: bool, state: str) -> None:
    judged = status.judge(lines)
    assert (judged["well"], judged["state"]) == (well, state)


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("@ updating....\n", True),
        (" ~  kastellan:infra:ClusterHost broker-1 refreshing (0s) \n", True),
        ("    pulumi-python:dynamic/kastellan:Host broker-1  \n", True),
        (" +  pulumi-python:dynamic/kastellan:Host broker-1 created (1s) \n", False),
        (" ~  pulumi-python:dynamic/kastellan:Host broker-3 **updating failed** error: no\n", False),
        ("error: the stack is currently locked\n", False),
        ("    13 unchanged\n", False),
    ],
)
def test_pulumis_routine_is_hidden_and_nothing_else(line: str, hidden: bool) -> None:
    assert native.is_pulumi_chatter(line) == hidden


def test_known_words_of_programs_have_remedies() -> None:
    assert "put that one back" in native.remedy("error: incorrect passphrase")
    assert "pulumi cancel" in native.remedy("error: the stack is currently locked by 1 lock(s)")
    assert "pulumi plugin install" in native.remedy("error: no resource plugin 'pulumi-resource-openstack' found in")
    assert "keep_data false" in native.remedy('error: resource "urn" cannot be deleted\nbecause it is protected.')
    assert "address of a host already" in native.remedy('"type": "IpAddressAlreadyAllocated"')
    assert "OS_CLOUD" in native.remedy("error: One of 'auth_url' or 'cloud' must be specified")
    assert "A quota is full" in native.remedy(
        "VolumeSizeExceedsAvailableQuota: Requested volume exceeds allowed gigabytes"
    )
    assert "A quota is full" in native.remedy("413: Quota exceeded for cores: Requested 8, but already used 16 of 20")
    assert "left by a call that was killed" in native.remedy(
        '{"type": "NetworkInUse", "message": "Unable to complete"}'
    )
    assert "A quota is full" in native.remedy("VolumeLimitExceeded: You have exceeded your maximum volume limit")
    assert native.remedy("RequestLimitExceeded: Request limit exceeded.") == ""  # AWS wants to be asked more slowly
    assert native.remedy("anything") == ""


def test_down_asks_where_it_can_and_refuses_where_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115, PTH123 - closed with the process
    with pytest.raises(UsageError, match="must be confirmed") as refusal:
        down.confirm("local")
    assert refusal.value.resolution == "./kastellan down local --yes"


DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"


def test_a_program_that_hangs_and_will_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "GRACE_S", 0.2)
    with pytest.raises(native.NativeFailed, match="was ended: it had no end after 1 s") as failure:
        native.run_shown([sys.executable, "-c", DEAF], hide=lambda _: False, timeout_s=1)
    assert failure.value.code == -9
    native.run_shown(["true"], hide=lambda _: False, timeout_s=30)


def test_down_keeps_reports_unless_told(tmp_path: Path) -> None:
    for name in ("runs", "pki", "shared"):
        (tmp_path / "local" / name).mkdir(parents=True)
    (tmp_path / "local/runs/one").mkdir()
    (tmp_path / "local/known_hosts").touch()
    down.remove_state(tmp_path / "local", purge=False)
    assert [path.name for path in (tmp_path / "local").iterdir()] == ["runs"]
    down.remove_state(tmp_path / "local", purge=True)
    assert not (tmp_path / "local").exists()
    down.remove_state(tmp_path / "local", purge=True)  # nothing there is fine


def test_layout_is_private_and_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / ".kastellan"
    monkeypatch.setattr(surroundings, "HOME", home)
    monkeypatch.setattr(surroundings, "BACKEND", home / "pulumi")
    monkeypatch.setattr(surroundings, "PASSPHRASE", home / "pulumi/passphrase")
    monkeypatch.setattr(surroundings, "COLLECTION", home / "collections/ansible_collections/kastellan/kafka")
    surroundings.lay_out()
    secret = (home / "pulumi/passphrase").read_text()
    surroundings.lay_out()
    assert (home / "pulumi/passphrase").read_text() == secret
    assert len(secret) > 40
    assert [path.stat().st_mode & 0o777 for path in (home, home / "pulumi", home / "pulumi/passphrase")] == [
        0o700,
        0o700,
        0o600,
    ]
    assert (home / "collections/ansible_collections/kastellan/kafka").resolve() == tmp_path.resolve()


def test_a_failed_program_is_an_error_with_its_last_words() -> None:
    with pytest.raises(CommandFailed) as failure:
        run(["sh", "-c", "echo why >&2; exit 3"], timeout_s=10)
    assert failure.value.brief.startswith("Exit code 3:")
    assert failure.value.details == "why"
    with pytest.raises(CommandFailed, match="There is no program"):
        run(["no-such-program-anywhere"], timeout_s=10)
    with pytest.raises(CommandFailed, match="No end after 0 s"):
        run(["sleep", "60"], timeout_s=0.1)


def fake_program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("version", "host", "good"),
    [("v3.259.0", True, True), ("v3.300.1", True, True), ("v3.1.0", True, False), ("v3.259.0", False, False)],
)
def test_the_users_own_pulumi_is_taken_if_it_will_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    host: bool,
    good: bool,
) -> None:
    fake_program(tmp_path, "pulumi", f"echo {version}")
    if host:
        fake_program(tmp_path, "pulumi-language-python", "true")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    build.on_path.cache_clear()
    try:
        assert (build.on_path() is not None) == good
    finally:
        build.on_path.cache_clear()


@pytest.mark.parametrize(("version", "good"), [("go1.26.8", True), ("go1.24.1", False), ("devel", False)])
def test_an_old_go_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, good: bool) -> None:
    fake_program(tmp_path, "go", f"echo {version}")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert (golang.find_go(golang.needed_go(build.CLI_MODULE)) is not None) == good


def test_the_errors_of_examination_do_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from cli import examine  # noqa: PLC0415 - beside its only use

    def _broken() -> list[examine.Finding]:
        raise KastellanError("it broke")

    monkeypatch.setattr(examine, "LOOKS", (_broken,))
    (finding,) = examine.examine()
    assert (finding.title, finding.state) == ("broken", examine.BAD)
    assert "it broke" in finding.evidence


@pytest.mark.parametrize(("says", "state"), [('openjdk version "17.0.15"', "good"), ('java version "1.8.0"', "note")])
def test_an_old_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, state: str) -> None:
    from cli import examine  # noqa: PLC0415 - beside its only use

    fake_program(tmp_path, "java", f"echo '{says}' >&2")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (finding,) = examine._java()
    assert finding.state == state
    assert re.search(r"17|1\.8", finding.evidence)


def test_a_missing_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cli import examine  # noqa: PLC0415 - beside its only use

    monkeypatch.setenv("PATH", str(tmp_path))
    (finding,) = examine._java()
    assert (finding.state, finding.evidence) == ("note", "not on PATH")


@pytest.mark.parametrize(
    ("state", "backup", "becomes", "said"),
    [
        ('{"a": 1}', '{"a": 0}', '{"a": 1}', ""),
        ("", '{"a": 0}', '{"a": 0}', "took the checkpoint before"),
        ('{"a": ', '{"a": 0}', '{"a": 0}', "took the checkpoint before"),
        ("", None, None, "set it aside"),
        ("", "", None, "set it aside"),
    ],
)
def test_a_checkpoint_cut_off_by_a_kill_is_restored(
    tmp_path: Path, state: str, backup: str | None, becomes: str | None, said: str
) -> None:
    path = tmp_path / "local.json"
    path.write_text(state)
    if backup is not None:
        (tmp_path / "local.json.bak").write_text(backup)
    assert said in " ".join(repair.restore_checkpoint("local", tmp_path))
    assert (path.read_text() if path.exists() else None) == becomes


def test_only_plugins_whose_engine_is_gone_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One here with an engine, one here without, one elsewhere without."""
    monkeypatch.setattr(repair, "ROOT", tmp_path)
    with socket.socket() as engine, socket.socket() as closed:
        engine.bind(("127.0.0.1", 0))
        engine.listen()
        closed.bind(("127.0.0.1", 0))
        ports = [engine.getsockname()[1], closed.getsockname()[1]]
        plugin = tmp_path / "pulumi-language-python"
        plugin.write_text("import time; time.sleep(60)")
        started = [
            subprocess.Popen([sys.executable, plugin, f"127.0.0.1:{port}"], cwd=folder)
            for port, folder in ((ports[0], tmp_path), (ports[1], tmp_path), (ports[1], "/"))
        ]
        try:
            assert repair.end_orphans() == [started[1].pid]
        finally:
            for process in started:
                process.kill()
                process.wait()


def test_a_second_start_costs_less_than_a_second() -> None:
    """Of the processor: this machine may be busy with something else."""
    subprocess.run(["./kastellan", "--help"], cwd=ROOT, check=True, capture_output=True, timeout=120)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["./kastellan", "--help"], cwd=ROOT, check=True, capture_output=True, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1


def test_what_ansible_says_is_not_taken_for_a_clouds_word() -> None:
    with pytest.raises(native.NativeFailed) as failed:
        native.run_shown(["sh", "-c", "echo SCRAM-SHA-512: Authentication failed; exit 2"], hide=lambda _: True)
    assert "cloud" not in failed.value.resolution


def test_packages_are_compiled_when_they_are_installed() -> None:
    """Where Python may not write, each run of Pulumi and Ansible would compile them anew."""
    site = next((ROOT / ".venv/lib").glob("python3.*/site-packages"))
    version = site.parent.name.removeprefix("python").replace(".", "")
    assert (site / f"pulumi/__pycache__/resource.cpython-{version}.pyc").exists()


def test_a_misspelt_tier_does_not_start_the_long_way(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["test", "--fst"])
    assert ended.value.code == 64
    assert "did you mean --fast?" in capsys.readouterr().err


def test_env_prints_nothing_that_a_shell_could_take_if_the_stack_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", "nostack"]) != 0
    assert capsys.readouterr().out == ""


def test_an_interrupted_stack_is_told_from_one_that_is_not_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.stack.pulumi", lambda *_: "{}")
    record = StackRecord("abc", "local", "/state", "kst-abc", "198.18.9.0/24", {"broker-1": "198.18.9.11"})
    for known, words in ((record, "half up"), (None, "is not up")):
        monkeypatch.setattr("cli.stack.record_of", lambda _, known=known: known)
        with pytest.raises(KastellanError, match=words):
            hosts_of("local")
