"""A Pulumi plugin that pretends to be OpenStack's: things are lines of a file. Run as a program by Pulumi's engine.

It knows nothing of OpenStack but a few habits that were seen on a real one: a server beyond its means ends in ERROR, an
update of it has nothing to do, an address is given once. What it shows is how our program and the real engine get along.
"""

from __future__ import annotations

import json
import os
import sys
from concurrent import futures
from pathlib import Path
from threading import Event
from typing import Any

import grpc
from google.protobuf import json_format, struct_pb2
from google.rpc import status_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from common.files import write_whole
from common.lock import locked
from common.wait import wait_until

HELD_TIMEOUT_S = 120
# Inputs that make another thing of it, as the real provider has them.
REPLACES = {"name", "imageId", "userData", "networkId", "fixedIps", "blockDevices", "availabilityZone", "networks"}
# What a cloud as in test_openstack.py has to offer.
LOOK_UPS: dict[str, dict[str, Any]] = {
    "getAvailabilityZones": {"names": ["zone-1"]},
    "getImage": {"id": "image-3"},
    "getFlavor": {"id": "flavor-7", "ram": 4096, "vcpus": 2},
    "getAuthScope": {"id": "s", "projectId": "p"},
    "getLimitsV2": {
        "maxTotalInstances": -1, "totalInstancesUsed": 0, "maxTotalCores": -1, "totalCoresUsed": 0,
        "maxTotalRamSize": -1, "totalRamUsed": 0, "maxServerGroupMembers": -1,
    },
    "getQuotasetV3": {"volumes": -1, "gigabytes": -1, "perVolumeGigabytes": -1},
}  # fmt: skip


class Store:
    """`things` by id; `broken` and `held` are names of servers that end in ERROR, or are not done yet; `bounds` are seconds
    that the engine gave for the last deletion of a kind, 0 for none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.path.read_text())
        return content

    def change(self, work: Any) -> Any:
        with locked(self.path.with_suffix(".lock")):
            content = self.read()
            answer = work(content)
            write_whole(self.path, json.dumps(content, indent=1))
        return answer

    @property
    def things(self) -> dict[str, Any]:
        things: dict[str, Any] = self.read()["things"]
        return things


def new_store(path: Path) -> Store:
    write_whole(path, json.dumps({"next": 1, "things": {}, "broken": [], "held": [], "bounds": {}}))
    return Store(path)


class Refused(Exception):
    """What a cloud says no with."""


class PretendedCloud(provider_pb2_grpc.ResourceProviderServicer):
    def __init__(self, store: Store) -> None:
        self.store = store

    def GetPluginInfo(self, _request: Any, _context: Any) -> Any:  # noqa: N802 - as the protocol has it
        return plugin_pb2.PluginInfo(version="5.5.3")

    def CheckConfig(self, request: Any, _context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, _request: Any, _context: Any) -> Any:  # noqa: N802
        return provider_pb2.DiffResponse()

    def Configure(self, _request: Any, _context: Any) -> Any:  # noqa: N802
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    def Check(self, request: Any, _context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, _context: Any) -> Any:  # noqa: N802
        old, new = plain(request.old_inputs), plain(request.news)
        changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key) and not key.startswith("__"))
        replaces = [key for key in changed if key in REPLACES]
        if plain(request.olds).get("powerState") == "error":  # only a refresh finds that out
            replaces.append("powerState")
        kind = provider_pb2.DiffResponse.DIFF_SOME if changed or replaces else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=kind, diffs=[*changed, *replaces], replaces=replaces)

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.preview:
            return provider_pb2.CreateResponse(properties=request.properties)
        kind, inputs = request.urn.split("::")[-2].rpartition(":")[2], plain(request.properties)
        try:
            ident, thing = self.store.change(lambda content: add(content, kind, inputs))
        except Refused as refusal:
            context.abort(grpc.StatusCode.UNKNOWN, str(refusal))
        if kind == "Instance":
            wait_until(lambda: thing["name"] not in self.store.read()["held"], timeout_s=HELD_TIMEOUT_S)
        if thing.get("status") == "error":
            half_made(context, ident, {**inputs, "id": ident}, inputs)
        return provider_pb2.CreateResponse(id=ident, properties=struct({**inputs, "id": ident}))

    def Read(self, request: Any, _context: Any) -> Any:  # noqa: N802
        thing = self.store.things.get(request.id)
        if thing is None:
            return provider_pb2.ReadResponse()
        properties = plain(request.properties)
        if thing["kind"] == "Instance":
            properties["powerState"] = thing["status"]
        return provider_pb2.ReadResponse(id=request.id, properties=struct(properties), inputs=request.inputs)

    def Update(self, request: Any, _context: Any) -> Any:  # noqa: N802
        inputs = plain(request.news)
        if not request.preview:
            self.store.change(lambda content: content["things"].get(request.id, {}).update(inputs=inputs))
        return provider_pb2.UpdateResponse(properties=struct({**inputs, "id": request.id}))

    def Delete(self, request: Any, _context: Any) -> Any:  # noqa: N802
        kind = request.urn.split("::")[-2].rpartition(":")[2]
        self.store.change(lambda content: content["bounds"].update({kind: request.timeout}))
        self.store.change(lambda content: content["things"].pop(request.id, None))
        return empty()

    def Cancel(self, _request: Any, _context: Any) -> Any:  # noqa: N802
        return empty()

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        try:
            answer = look_up(self.store.things, request.tok.rpartition(":")[2], plain(request.args))
        except Refused as refusal:
            context.abort(grpc.StatusCode.UNKNOWN, str(refusal))
        return provider_pb2.InvokeResponse(**{"return": struct(answer)})


def add(content: dict[str, Any], kind: str, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    address = next((it["ipAddress"] for it in inputs.get("fixedIps", [])), "")
    if address and any(thing.get("address") == address for thing in content["things"].values()):
        raise Refused(f"IpAddressAlreadyAllocated: IP address {address} already allocated in subnet")
    ident = f"{kind}-{content['next']:08d}-1234-1234-1234"
    content["next"] += 1
    name = inputs.get("name", "")
    thing = {"kind": kind, "name": name, "address": address, "inputs": inputs}
    if kind == "Instance":
        thing["status"] = "error" if name in content["broken"] else "active"
    content["things"][ident] = thing
    return ident, thing


def look_up(things: dict[str, Any], word: str, asked: dict[str, Any]) -> dict[str, Any]:
    if word in LOOK_UPS:
        return {"id": word, **LOOK_UPS[word]}
    if word == "getPortIds":
        mine = [
            it
            for it, thing in things.items()
            if thing["kind"] == "Port" and asked["tags"][0] in thing["inputs"]["tags"]
        ]
        return {"id": word, "ids": mine}
    if word == "getPort":
        return {"id": word, "deviceId": server_on(things, asked["portId"])}
    if word == "getVolumeV3":
        mine = [it for it, thing in things.items() if thing["kind"] == "Volume" and thing["name"] == asked["name"]]
        if len(mine) != 1:
            raise Refused(f"Your query returned {'multiple' if mine else 'no'} results")
        return {"id": mine[0]}
    if word == "getInstanceV2" and asked["id"] in things:
        server = things[asked["id"]]
        well = server["status"] == "active"
        address = things[server["inputs"]["networks"][0]["port"]]["address"] if well else ""
        return {"id": asked["id"], "powerState": server["status"], "accessIpV4": address}
    raise Refused(f"{word} {asked}: not found")


def server_on(things: dict[str, Any], port: str) -> str:
    servers = (
        (ident, thing["inputs"].get("networks")) for ident, thing in things.items() if thing["kind"] == "Instance"
    )
    return next((ident for ident, networks in servers if networks and networks[0]["port"] == port), "")


def half_made(context: Any, ident: str, properties: dict[str, Any], inputs: dict[str, Any]) -> None:
    """As a bridged provider says it: it is there, and it is not well. The engine writes it into its state."""
    words = "Error waiting for instance to become ready: unexpected state 'ERROR', wanted target 'ACTIVE'"
    told = provider_pb2.ErrorResourceInitFailed(
        id=ident, properties=struct(properties), inputs=struct(inputs), reasons=[words]
    )
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=words)
    status.details.add().Pack(told)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, words)


def plain(message: Any) -> dict[str, Any]:
    read: dict[str, Any] = json_format.MessageToDict(message)
    return read


def struct(values: dict[str, Any]) -> Any:
    return json_format.ParseDict(values, struct_pb2.Struct())


def empty() -> Any:
    from google.protobuf import empty_pb2  # noqa: PLC0415 - its one use

    return empty_pb2.Empty()


def main() -> None:
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    cloud = PretendedCloud(Store(Path(os.environ["PRETENDED_CLOUD"])))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(cloud, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    Event().wait()


if __name__ == "__main__":
    main()
