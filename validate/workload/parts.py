"""What gives a producer's load its shape: settings that are objects of their own, and its keys, read and checked."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from common.errors import UsageError
from common.names import nearest
from validate.workload.keys import WAYS, DrawnKeys
from validate.workload.schedule import Stage
from validate.workload.sizes import Size
from validate.workload.value import check_names

if TYPE_CHECKING:
    from validate.workload.spec import ProducerSpec

# More of anything (records a second, milliseconds) than there will ever be; floats still count in ones there.
BEYOND_ALL = 2**53
MOST_KEYS = 1_000_000
# What each is made of, and an example.
PARTS: dict[str, tuple[type[Any], str]] = {
    "shape": (Stage, '{"for_s": 10, "records_per_s": 500, "to_per_s": 5000}'),
    "sizes": (Size, '{"bytes": 100, "share": 0.9}'),
    "drawn_keys": (DrawnKeys, '{"count": 1000, "skew": 1.0}'),
}


def required(found: Any) -> bool:
    return found.default is MISSING and found.default_factory is MISSING


def parse(kind: str, key: str, given: Any) -> Any:
    """One or several; which of both it has to be is for `check`."""
    return [_part(kind, key, one) for one in given] if isinstance(given, list) else _part(kind, key, given)


def _part(kind: str, key: str, given: Any) -> Any:
    made, example = PARTS[key]
    place = f"Wrong in the {kind}'s spec: {key}"
    known = {f.name: f for f in fields(made)}
    if not isinstance(given, dict):
        raise UsageError(f"{place} is {type(given).__name__}.", resolution=f"For example: {example}.")
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{place} has an unknown key {name!r}.", resolution=nearest(name, known).capitalize())
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < BEYOND_ALL
        whole = "float" in str(known[name].type) or isinstance(value, int)
        if not (number and whole) and not (value is None and "None" in str(known[name].type)):
            raise UsageError(f"{place}: {name} is {value!r}.", resolution=f"For example: {example}.")
    if lacking := [f.name for f in known.values() if required(f) and f.name not in given]:
        raise UsageError(f"{place} lacks {', '.join(lacking)}.", resolution=f"For example: {example}.")
    return made(**given)


def check(spec: ProducerSpec) -> None:
    _check_shape(spec)
    _check_sizes(spec)
    _check_keys(spec)
    _check_drawn_keys(spec)


def _check_shape(spec: ProducerSpec) -> None:
    good = PARTS["shape"][1]
    if spec.shape is None:
        return
    if not isinstance(spec.shape, list) or not spec.shape:
        raise spec.wrong("shape", "is no list of stages", f'"shape": [{good}]')
    if spec.records_per_s is not None or spec.roll_records is not None:
        raise spec.wrong("shape", "stands beside records_per_s or roll_records", "one of them alone")
    for stage in spec.shape:
        if min(stage.for_s, stage.records_per_s, stage.last_per_s, 1 if stage.burst is None else stage.burst) <= 0:
            raise spec.wrong("shape", "has a time, a rate or a burst that is not above 0", good)


def _check_sizes(spec: ProducerSpec) -> None:
    good = PARTS["sizes"][1]
    if spec.sizes is None:
        return
    if not isinstance(spec.sizes, list) or not spec.sizes:
        raise spec.wrong("sizes", "is no list", f'"sizes": [{good}]')
    for size in spec.sizes:
        check_names(spec.run_id, spec.name, size.bytes)
        if size.share <= 0:
            raise spec.wrong("sizes", f"has a share of {size.share:g}", f"a share above 0: {good}")


def _check_keys(spec: ProducerSpec) -> None:
    if not spec.key_prefix.isprintable():
        raise spec.wrong("key_prefix", "has what cannot be printed", '"key_prefix": "order"')
    if spec.partitioner not in WAYS:
        raise spec.wrong("partitioner", f"is {spec.partitioner!r}", f'"partitioner": one of {", ".join(WAYS)}')
    if spec.keys is not None and spec.keys < 1:
        raise spec.wrong("keys", f"is {spec.keys}", '"keys": 20, or null')
    if not spec.tombstones:
        return
    if spec.keys is None or spec.count is None or max(spec.share(t.name, 0) or 0 for t in spec.topics) > spec.keys:
        raise spec.wrong(
            "tombstones", "need keys, and a count that gives each key one at most", '"keys": 20, "count": 20'
        )


def _check_drawn_keys(spec: ProducerSpec) -> None:
    keys, good = spec.drawn_keys, PARTS["drawn_keys"][1]
    if keys is None:
        return
    if not isinstance(keys, DrawnKeys) or not 1 <= keys.count <= MOST_KEYS or keys.skew < 0:
        raise spec.wrong("drawn_keys", f"is not one count of 1..{MOST_KEYS} and a skew from 0 on", good)
    if spec.keys is not None or spec.sample is not None:
        raise spec.wrong("drawn_keys", "stands beside keys or sample", "one of them alone")
    for topic in spec.topics:
        # More partitions than keys are not even laid out.
        urns = spec.urn_of(topic.name) if topic.partitions <= keys.count else None
        for partition, weight in enumerate(urns.weights if urns else [0.0]):
            if not weight:
                what = f"count is {keys.count}: none of them belongs in {topic.name}-{partition}"
                raise spec.wrong("drawn_keys", what, f"more keys, as {good}")
