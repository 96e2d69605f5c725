"""What `client` prints works: its pieces are taken as a user would, from files as site writes them."""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from cli import client
from common.errors import KastellanError, UsageError
from plugins.module_utils.client_files import files
from tests.unit.roles import java

ODD = 'it\'s "quoted", with = \\ $HOME grüße 🔑 {{ x }}\\n'
DOCUMENT = {
    "users": ["admin", "usercc"], "kafka_version": "4.3.1", "bootstrap_servers": "198.18.0.11:9092,198.18.0.12:9092",
    "hosts": [{"name": "broker-1"}, {"name": "broker-2"}],
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stack that has a cluster, and a playbook that says it did its work."""
    folder = tmp_path / "local" / "clients" / "usercc"
    folder.mkdir(parents=True)
    login = {
        "password": ODD, "mechanism": "SCRAM-SHA-512", "ca": "CA\nCA\n", "certificate": "C\n", "key": "K\n",
        "folder": str(folder), "sasl_servers": DOCUMENT["bootstrap_servers"], "mtls_servers": "198.18.0.11:9094",
    }  # fmt: skip
    for name, text in files("usercc", login).items():
        (folder / name).write_text(text, encoding="utf-8")
    (tmp_path / "local" / "cluster.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    monkeypatch.setattr(client, "HOME", tmp_path)
    monkeypatch.setattr(client, "lay_out", lambda: None)
    return tmp_path


def told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, user: str = "usercc", secrets: bool = False
) -> tuple[str, list[str]]:
    """What was printed, and the playbook that was run."""
    ran: list[str] = []
    monkeypatch.setattr(client, "run_shown", lambda argv, hide: ran.extend(argv))  # noqa: ARG005 - by keyword
    assert client.run(argparse.Namespace(stack="local", user=user, show_secrets=secrets)) == 0
    return capsys.readouterr().out, ran


def python(said: str, head: str, end: str) -> str:
    """The piece of Python that stands beside `head`, up to the line that begins with `end`."""
    found = re.search(rf"^{head} +(.*?)(?=^{end})", said, re.MULTILINE | re.DOTALL)
    assert found
    width = found.start(1) - found.start()
    return textwrap.dedent(" " * width + found[1])


def test_files_are_written_again_and_named(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said, ran = told(capsys, monkeypatch)
    assert ran[0] == "ansible-playbook"
    assert "playbooks/client.yml" in ran
    assert json.loads(ran[-1]) == {"kafka_client_users": ["usercc"]}
    folder = home / "local" / "clients" / "usercc"
    for name in ("client.properties", "client-mtls.properties", "librdkafka.json", "librdkafka-mtls.json"):
        assert f"{folder / name}\n" in said


@pytest.mark.usefixtures("home")
def test_the_password_is_shown_only_to_who_asks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "quoted" not in told(capsys, monkeypatch)[0]
    assert ODD in told(capsys, monkeypatch, secrets=True)[0]


@pytest.mark.usefixtures("home")
def test_the_piece_for_python_logs_in_as_the_user(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    class Client:
        def __init__(self, settings: dict[str, Any]) -> None:
            seen.append(settings)

        def __getattr__(self, name: str) -> Any:
            return lambda *_: self

    monkeypatch.setattr("confluent_kafka.Producer", Client)
    monkeypatch.setattr("confluent_kafka.Consumer", Client)
    exec(python(told(capsys, monkeypatch)[0], "librdkafka, Python", "Java tools"), {})  # noqa: S102 - our own text
    producer, consumer = seen
    assert (producer["sasl.username"], producer["sasl.password"]) == ("usercc", ODD)
    assert consumer.items() >= producer.items()
    assert consumer["group.id"]


@pytest.mark.usefixtures("home")
def test_the_piece_for_spark_has_the_same_login(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reader(dict[str, str]):
        read = property(lambda self: self)

        def format(self, name: str) -> Reader:
            assert name == "kafka"
            return self

        def options(self, **options: str) -> Reader:
            self.update(options)
            return self

        def load(self) -> Reader:
            return self

    spark = Reader()
    exec(python(told(capsys, monkeypatch)[0], "Spark", "By certificate"), {"spark": spark})  # noqa: S102
    assert spark["kafka.bootstrap.servers"] == DOCUMENT["bootstrap_servers"]
    assert spark["kafka.ssl.truststore.certificates"] == "CA\nCA\n"
    assert java.jaas(spark["kafka.sasl.jaas.config"])[1] == {"username": "usercc", "password": ODD}


@pytest.mark.parametrize(("version", "option"), [("4.3.1", "--command-config"), ("3.9.2", "--consumer.config")])
def test_the_piece_for_javas_tools_names_the_option_of_the_version(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, version: str, option: str
) -> None:
    document = json.dumps({**DOCUMENT, "kafka_version": version})
    (home / "local" / "cluster.json").write_text(document, encoding="utf-8")
    assert f"{option} usercc.properties" in told(capsys, monkeypatch)[0]


@pytest.mark.usefixtures("home")
def test_a_misspelt_user_and_a_stack_without_a_cluster(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError) as raised:
        told(capsys, monkeypatch, user="userc")
    assert "usercc" in str(raised.value.resolution)
    with pytest.raises(KastellanError, match="has no cluster yet"):
        client.described(Path("/nothing/cluster.json"), "local")
