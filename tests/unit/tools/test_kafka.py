"""The lock, the launch scripts and the tar of Kafka."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from common.errors import KastellanError, UsageError
from tools import maven
from tools.kafka import archive, coordinates, fetch, scripts
from tools.spark import fetch as spark_source


@pytest.mark.parametrize("version", coordinates.versions())
def test_locks_name_kafka_and_its_logging(version: str) -> None:
    names = {jar.artifact for jar in coordinates.read_lock(version)}
    assert {"kafka_2.13", "kafka-tools", "kafka-clients", "connect-mirror"} <= names
    assert ("log4j-slf4j-impl" in names) == version.startswith("4.")


def test_an_unknown_version_says_how_to_add_it() -> None:
    with pytest.raises(UsageError, match=r"There is no lock for Kafka 4\.3\.9"):
        coordinates.read_lock("4.3.9")


def test_scripts_have_the_usual_names() -> None:
    made = scripts.files("4.3.1")
    for name in ("topics", "acls", "configs", "metadata-quorum", "storage", "console-producer", "server-start",
                 "console-consumer", "consumer-groups", "reassign-partitions", "log-dirs", "dump-log", "features",
                 "leader-election", "producer-perf-test", "consumer-perf-test", "run-class"):  # fmt: skip
        assert f"bin/kafka-{name}.sh" in made
    assert "kafka.Kafka" in made["bin/kafka-server-start.sh"]
    assert "zookeeper-shell" not in str(sorted(made))
    assert "bin/zookeeper-shell.sh" in scripts.files("3.9.2")


def test_a_jar_that_is_not_the_locked_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a-1.jar").write_bytes(b"other")
    jar = maven.Jar("g", "a", "1", hashlib.sha256(b"right").hexdigest())
    with pytest.raises(KastellanError, match=r"a-1\.jar is not what the lock names"):
        maven.verify(tmp_path, [jar])


def test_the_same_content_gives_the_same_tar(tmp_path: Path) -> None:
    libs = tmp_path / "libs"
    libs.mkdir()
    (libs / "a.jar").write_bytes(b"x")
    for name in ("1.tar", "2.tar"):
        fetch._write_tar(tmp_path / name, "kafka", libs, {"bin/k.sh": b"#!/bin/sh\n"})
    assert (tmp_path / "1.tar").read_bytes() == (tmp_path / "2.tar").read_bytes()
    with tarfile.open(tmp_path / "1.tar") as tar:
        assert [(entry.name, entry.mode) for entry in tar] == [("kafka/bin/k.sh", 0o755), ("kafka/libs/a.jar", 0o644)]


def release(path: Path) -> str:
    """A small archive as Kafka's site has them; its checksum."""
    with tarfile.open(path, "w:gz") as tar:
        for name in ("bin/kafka-server-start.sh", "libs/kafka.jar", "bin/windows/k.bat", "LICENSE"):
            entry = tarfile.TarInfo(f"kafka_2.13-4.3.1/{name}")
            entry.size = 1
            tar.addfile(entry, io.BytesIO(b"x"))
    return hashlib.sha512(path.read_bytes()).hexdigest()


def test_a_release_is_kept_with_the_manifest_of_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sha512 = release(tmp_path / "kafka.tgz")
    found = archive.ensure(str(tmp_path / "kafka.tgz"), sha512)
    assert found["fetched"] is True
    assert sorted(json.loads(Path(str(found["manifest"])).read_text(encoding="utf-8"))) == [
        "bin/kafka-server-start.sh",
        "libs/kafka.jar",
    ]
    assert archive.ensure("not looked at again", sha512)["fetched"] is False
    manifest = Path(str(found["manifest"]))
    told = manifest.read_bytes()
    manifest.write_text("{}")
    assert archive.ensure("not looked at again", sha512)["fetched"] is False
    assert manifest.read_bytes() == told
    Path(str(found["archive"])).write_bytes(b"cut off")
    assert archive.ensure(str(tmp_path / "kafka.tgz"), sha512)["fetched"] is True
    assert Path(str(found["archive"])).read_bytes() == (tmp_path / "kafka.tgz").read_bytes()


@pytest.mark.parametrize("spoiled", ["archive", "manifest"])
def test_a_tar_of_jars_that_was_cut_off_is_made_again(
    spoiled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(fetch, "read_lock", lambda _: [maven.Jar("g", "a", "1", hashlib.sha256(b"a").hexdigest())])
    monkeypatch.setattr(fetch, "copy_jars", copies)
    first = fetch.ensure("4.3.1")
    assert fetch.ensure("4.3.1") == {**first, "fetched": False}
    path = Path(str(first[spoiled]))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert fetch.ensure("4.3.1") == first
    assert path.read_bytes() == whole


def test_a_jar_of_sparks_source_that_was_cut_off_is_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_source, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(
        spark_source, "read_lines", lambda _: [maven.Jar("g", "a", "1", hashlib.sha256(b"a").hexdigest())]
    )
    monkeypatch.setattr(spark_source, "copy_jars", copies)
    (jar,) = spark_source.ensure()
    jar.write_bytes(b"")
    assert [path.read_bytes() for path in spark_source.ensure()] == [b"a"]


def copies(_: Path, libs: Path, jars: list[maven.Jar], **__: str) -> None:
    libs.mkdir()
    for jar in jars:
        (libs / jar.file_name).write_text(jar.artifact)


def test_a_release_with_another_checksum_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    release(tmp_path / "kafka.tgz")
    with pytest.raises(
        KastellanError, match="is not the release that kafka_archive_sha512 names: nothing was installed"
    ):
        archive.ensure(str(tmp_path / "kafka.tgz"), "0" * 128)
    assert not list((tmp_path / "cache").rglob("*.tgz"))


@pytest.mark.parametrize("sha512", ["", "abc", "g" * 128])
def test_a_checksum_that_is_none(sha512: str) -> None:
    with pytest.raises(UsageError, match="That is no SHA-512 checksum"):
        archive.ensure("x", sha512)
