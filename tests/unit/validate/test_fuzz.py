"""Whatever lies in a description, a scenario, an expectation, a journal or a ledger: read, or refused with a way out."""

from __future__ import annotations

import io
import json
from array import array
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from common.errors import UnreadableError, UsageError
from tests.fuzz import TAGS, answered, any_text, bounded, json_junk, junk, spoiled, torn
from tests.unit.validate.control import GOOD
from validate import cluster as clusters
from validate import expect
from validate import scenario as scenarios
from validate.ledger.files import broken_inside, look_at
from validate.ledger.from_json import arrow_schema, convert
from validate.ledger.read import Ledger, _parse_faults
from validate.ledger.schema import TABLES
from validate.workload import entries, journal, spec, value
from validate.workload.block import Block
from validate.workload.seal import seal

if TYPE_CHECKING:
    from pathlib import Path

LANES = [["orders", 0], ["orders", 1]]
PRODUCER = {"kind": "producer", "lanes": LANES, "run_id": "r", "producer": "w", "acks": "all", "idempotent": True,
            "max_in_flight": 5, "clock": "here"}  # fmt: skip
CONSUMER = {
    "kind": "consumer",
    "lanes": LANES,
    "group": "g",
    "member": "c",
    "isolation": "read_committed",
    "clock": None,
}
TRANSFORMER = {**PRODUCER, **CONSUMER, "kind": "transformer", "transactional_id": "t", "sink": "out"}
TAKEN = [0, 0, 1_000_000, [["orders", 0, "r", "w", [0, 1], [0, 1]]]]
FRAMES: dict[str, list[list[Any]]] = {
    "consumer": [[entries.STARTS, [["orders", 0, 0]]], [entries.TAKEN, *TAKEN],
                 [entries.COMMIT, 0, 0, 1_000_001, [["orders", 0, 2]]], [entries.COMMITTED, 0, 1_000_002, [None]]],
    "transformer": [[entries.FOUND, 1, [["orders", 0, 0]]], [entries.BEGUN, 0, 1_000_000], [entries.TAKEN, *TAKEN],
                    [entries.COMMIT, 0, 0, 1_000_001, [["orders", 0, 2]]], [entries.ENDING, 0, 1_000_003],
                    [entries.ENDED, 0, 1_000_004, "committed"]],
}  # fmt: skip
OPENINGS = {"consumer": CONSUMER, "transformer": TRANSFORMER}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def described(folder: Path, text: str) -> clusters.Cluster | None:
    path = folder / "cluster.json"
    path.write_bytes(text.encode(errors="surrogatepass"))
    return answered(lambda: clusters.load(path))


@bounded
@given(description=spoiled(GOOD, json_junk))
@example(description={**GOOD, "clients_dir": "~nobody-of-that-name/x"})
@example(description={**GOOD, "clients_dir": "a\0b"})
@example(description={**GOOD, "listeners": [{**GOOD["listeners"][0], "port": 9092.0}]})
@example(description={**GOOD, "listeners": [GOOD["listeners"][0]] * 2})
@example(description={**GOOD, "hosts": [GOOD["hosts"][0]] * 2})
def test_a_spoiled_description_of_a_cluster(folder: Path, description: Any) -> None:
    cluster = described(folder, json.dumps(description))
    if cluster:
        assert all(type(port) is int for port in cluster.listeners.values())
        assert len(cluster.listeners) == len(cluster.content["listeners"])
        assert len({host.name for host in cluster.hosts}) == len(cluster.hosts)


@bounded
@given(text=torn(json.dumps(GOOD, indent=1)))
@example(text="[" * 5000)
@example(text="1" * 5000)
@example(text="\ud800")
def test_a_torn_description_of_a_cluster(folder: Path, text: str) -> None:
    described(folder, text)


@bounded
@given(content=spoiled({"a": "b"}, json_junk), data=st.binary(max_size=60))
@example(content="", data=b"[" * 5000)
@example(content=["no", "object"], data=b"\xff\xfe")
def test_a_spoiled_bundle_of_a_user(folder: Path, content: Any, data: bytes) -> None:
    cluster = described(folder, json.dumps(GOOD))
    assert cluster is not None
    place = cluster.clients_dir / "usercc"
    place.mkdir(parents=True, exist_ok=True)
    for written in (json.dumps(content).encode(), data):
        (place / "librdkafka.json").write_bytes(written)
        found = answered(lambda: cluster.client("usercc"))
        assert found is None or isinstance(found, dict)


SCENARIOS = {name: yaml.safe_load((scenarios.FOLDER / f"{name}.yaml").read_text()) for name in scenarios.ids()}


@bounded
@given(content=st.sampled_from(sorted(SCENARIOS)).flatmap(lambda name: spoiled(SCENARIOS[name])))
@example(content={**SCENARIOS["kill-leader"], 1: "x", "y": "z"})
@example(content={**SCENARIOS["kill-leader"], "topics": {"t": {"partitions": 1, "replication": 1,
                                                             "config": {"min.insync.replicas": "two"}}}})  # fmt: skip
@example(content={**SCENARIOS["kill-leader"], "topics": {5: {"partitions": 1, "replication": 1}}})
@example(content={**SCENARIOS["kill-leader"], "workload": {**SCENARIOS["kill-leader"]["workload"],
                                                               "records_per_s": 10**400}})  # fmt: skip
@example(content={**SCENARIOS["dangerous-driving"], "acts": [{"start": "query", "kind": "pipeline", "settings": {"sink": []}},
                                                             {"start": "trucks", "kind": "producer"}]})  # fmt: skip
def test_a_spoiled_scenario(content: Any) -> None:
    answered(lambda: scenarios.parse("spoiled", content, place="spoiled.yaml"))


@bounded
@given(text=torn((scenarios.FOLDER / "kill-leader.yaml").read_text(encoding="utf-8")))
def test_a_torn_scenario(folder: Path, text: str) -> None:
    (folder / "torn.yaml").write_text(text, encoding="utf-8")
    answered(lambda: scenarios.load("torn", folder))


EXPECTED = {
    "anomalies": {"lost": {"count": 0}, "duplicated": {"count": ">0", "verdict": "allowed", "topics": ["a"]}},
    "groups": {"g": {"topics": ["a"], "from": "earliest"}}, "unclean": ["a"], "progress": {"acked_per_partition": 1},
    "outage": {"fresh": {"write_s": 5}, "topics": ["a"]},
}  # fmt: skip


@bounded
@given(content=st.one_of(spoiled(EXPECTED), junk))
@example(content={"anomalies": {1: {}, "lost": {}}})
def test_a_spoiled_expectation(content: Any) -> None:
    answered(lambda: expect.parse(content))


@pytest.mark.parametrize("text", TAGS)
def test_words_that_yaml_itself_stumbles_over(folder: Path, text: str) -> None:
    (folder / "tag.yaml").write_text(f"title: {text}\n", encoding="utf-8")
    answered(lambda: scenarios.load("tag", folder))
    answered(lambda: expect.load(folder / "tag.yaml"))


SPEC = {"run_id": "r", "name": "w", "ledger": "l", "client": {}, "topics": [{"name": "t", "partitions": 1}]}


@bounded
@given(kind=st.sampled_from([spec.ProducerSpec, spec.ConsumerSpec]), content=spoiled({**SPEC, "group": "g"}, json_junk))
@example(kind=spec.ProducerSpec, content={**SPEC, "key_prefix": "\ud800"})
@example(kind=spec.ProducerSpec, content={**SPEC, "count": 5, "topics": [{"name": "t", "partitions": 0}]})
@example(kind=spec.ProducerSpec, content={**SPEC, "topics": [{"name": "t", "partitions": float("inf")}]})
@example(kind=spec.ProducerSpec, content={**SPEC, "records_per_s": float("nan")})
@example(kind=spec.ProducerSpec, content={**SPEC, "records_per_s": 10**400})
@example(kind=spec.ProducerSpec, content={**SPEC, "run_id": "\ud800"})
def test_a_spoiled_order_to_a_workload(kind: type[spec.Spec], content: Any) -> None:
    answered(lambda: kind.parse(content))


SHAPED = {
    **SPEC, "shape": [{"for_s": 10, "records_per_s": 500, "to_per_s": 900}, {"for_s": 1, "records_per_s": 5, "burst": 5}],
    "sizes": [{"bytes": 100, "share": 0.5}], "drawn_keys": {"count": 20, "skew": 1.0}, "count": 9, "key_prefix": "order",
}  # fmt: skip


@bounded
@given(content=spoiled(SHAPED, json_junk))
@example(content={**SHAPED, "drawn_keys": {"count": 20, "skew": float("nan")}})
@example(content={**SHAPED, "drawn_keys": {"count": 20, "skew": None}})
@example(content={**SHAPED, "topics": [{"name": "t", "partitions": 2**62}]})
def test_a_spoiled_order_for_a_load_with_a_shape(content: Any) -> None:
    answered(lambda: spec.ProducerSpec.parse(content))


@bounded
@given(contents=st.lists(st.binary(max_size=60), max_size=5), cut=st.integers(0, 400))
def test_a_journal_cut_off_anywhere_gives_what_was_whole(folder: Path, contents: list[bytes], cut: int) -> None:
    path = folder / "cut.journal"
    path.unlink(missing_ok=True)
    writer = journal.Writer(path)
    ends = []
    for content in contents:
        writer.append(content)
        ends.append(path.stat().st_size)
    writer.close()
    path.write_bytes(path.read_bytes()[:cut])
    assert list(journal.read(path)) == contents[: sum(end <= cut for end in ends)]


@bounded
@given(
    contents=st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=5),
    at=st.integers(0),
    bit=st.integers(0, 7),
)
def test_a_bit_that_flipped_in_a_journal_is_never_read_as_written(
    folder: Path, contents: list[bytes], at: int, bit: int
) -> None:
    path = folder / "bent.journal"
    path.unlink(missing_ok=True)
    writer = journal.Writer(path)
    for content in contents:
        writer.append(content)
    writer.close()
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1 << bit
    path.write_bytes(data)
    found = answered(lambda: list(journal.read(path)))
    assert found is None or (len(found) < len(contents) and found == contents[: len(found)])


@bounded
@given(data=st.binary(max_size=200))
def test_any_bytes_as_a_journal(folder: Path, data: bytes) -> None:
    path = folder / "any.journal"
    path.write_bytes(data)
    answered(lambda: list(journal.read(path)))


def sealed(folder: Path, *frames: bytes) -> None:
    place = folder / "ledger" / journal.FOLDER
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"w{journal.SUFFIX}"
    path.unlink(missing_ok=True)
    writer = journal.Writer(path)
    for content in frames:
        writer.append(content)
    writer.close()
    answered(lambda: seal(folder / "ledger"))


@bounded
@given(kind=st.sampled_from(sorted(FRAMES)), data=st.data())
def test_a_journal_of_another_version(folder: Path, kind: str, data: st.DataObject) -> None:
    opening, *frames = data.draw(spoiled([OPENINGS[kind], *FRAMES[kind]], json_junk)) or [None]
    sealed(folder, journal.OPENING + json.dumps(opening).encode(), *(json.dumps(frame).encode() for frame in frames))


@pytest.mark.parametrize(
    "frame",
    [
        [entries.FOUND, 1, None],
        [entries.FOUND],
        [entries.BEGUN, 0, 10**30],
        [entries.BEGUN, 0, 2**63],
        [entries.ENDED, 7, 1, "committed"],
        [entries.TAKEN, 0, 2**70, 1, [["orders", 0, "r", "w", [0], [0]]]],
        {},
        None,
    ],
)
def test_an_entry_that_no_version_wrote(folder: Path, frame: Any) -> None:
    sealed(folder, journal.OPENING + json.dumps(TRANSFORMER).encode(), json.dumps([entries.BEGUN, 0, 1]).encode(),
           json.dumps(frame).encode())  # fmt: skip


@bounded
@given(content=st.binary(max_size=80))
@example(content=b"[" * 5000)
@example(content=b"K\x08\x00\x00\x00")
@example(content=b"S\x08\x00\x00\x00")
def test_any_frame_of_a_writer(folder: Path, content: bytes) -> None:
    whole = Block(0, 0, 1_000_000, array("I", [1]), array("I", [1])).reservation()
    for frame in (content, whole[:1] + content, whole + content, b"B" + content):
        sealed(folder, journal.OPENING + json.dumps(PRODUCER).encode(), whole, frame)


@bounded
@given(st.binary(max_size=300).map(lambda rest: value.MARK + rest))
def test_any_value_of_a_record(data: bytes) -> None:
    mark = value.read(data)
    assert mark is None or isinstance(mark.seq, int)


@bounded
@given(lines=st.lists(st.one_of(any_text, torn('{"fault": "f", "target": "t", "phase": "begin", "at": "2026-11-18"}'),
                                json_junk.map(json.dumps)), max_size=4))  # fmt: skip
@example(lines=["[" * 5000])
@example(lines=['{"fault": "f", "target": "t", "phase": [], "at": "2026-11-18"}'])
@example(lines=['{"fault": "f", "target": "t", "phase": "bit", "at": "0001-01-01T00:00:00+23:59"}'])
def test_any_lines_of_faults(lines: list[str]) -> None:
    ledger = Ledger({})
    _parse_faults(ledger, "faults.jsonl", lines)
    assert len(ledger.faults) + len(ledger.problems) <= len(lines)


ROW = {"topic": "orders", "partition": 0, "high_watermark": 7, "seen_at": "2026-11-18T07:00:00Z", "witness": "w"}


@bounded
@given(line=st.one_of(spoiled(ROW, json_junk).map(json.dumps), torn(json.dumps(ROW)), any_text))
@example(line="[" * 5000)
@example(line=json.dumps({**ROW, "seen_at": 7}))
@example(line=json.dumps({**ROW, "partition": 2**70}))
@example(line=json.dumps({**ROW, "topic": "\ud800"}))
def test_a_line_of_a_ledger_written_by_hand(folder: Path, line: str) -> None:
    source = folder / "by-hand"
    source.mkdir(exist_ok=True)
    (source / "watermarks.jsonl").write_text(line, encoding="utf-8")
    answered(lambda: convert(source, folder / "converted"))


def parquet() -> bytes:
    schema = arrow_schema("watermarks")
    rows = [{**ROW, "seen_at": None, "partition": number} for number in range(20)]
    columns = {name: pa.array([row[name] for row in rows], schema.field(name).type) for name in schema.names}
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


PARQUET = parquet()


@bounded
@given(data=st.data())
def test_a_bent_file_of_a_ledger(folder: Path, data: st.DataObject) -> None:
    made = bytearray(PARQUET)
    for _ in range(data.draw(st.integers(1, 4))):
        made[data.draw(st.integers(0, len(made) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.sampled_from((len(made), len(made), len(made) // 2, 3, 0)))
    path = folder / "bent.parquet"
    path.write_bytes(made[:end])
    batches, _ = look_at("watermarks", [path], TABLES["watermarks"])
    broken_inside(batches)


def test_a_refusal_has_an_exit_code_of_its_own() -> None:
    assert (UsageError("x").exit_code, UnreadableError("x").exit_code) == (64, 2)
