"""Hosts: the service is caged, its files are closed, and nothing else stands open. Asked of each host's kernel."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from common.ssh import ssh_argv
from validate.faults.shell import over_ssh
from validate.security import traces
from validate.security.registry import Evidence, apart, check
from validate.security.transport import KNOWN_PORTS, SCANNERS, declared_ports
from validate.security.wire import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from validate.cluster import Host
    from validate.security.look import Look
    from validate.security.scene import Scene

HERE, KERNEL = "this machine", "each host, as root"
EXPOSURE_MOST, FILES_LEAST, CLOCKS_MOST_S = 1.5, 10_000, 0.5
SECCOMP_FILTER = "2"
MAY_RUN = "may run the following"
OTHERS, GROUP, GROUP_WRITE = 0o007, 0o070, 0o020
PUBLIC = re.compile(r"^log4j|ca\.pem$")
REMOTE_HOLES = (
    "jdwp", "jmxremote.port", "jmxremote.rmi.port", "jolokia", "jmx_prometheus", "-Xdebug", "-agentlib:", "-agentpath:",
)  # fmt: skip
DEAF_PORTS = (7, 4444, 50505)  # echo, and two that nobody has
DENIED = "Permission denied"
# Says nothing where sshd cannot say it (no folder of its own yet, where a socket starts it).
SSHD = (
    "PATH=$PATH:/usr/sbin sshd -T -C user=root,host=localhost,addr=127.0.0.1 2>/dev/null | grep -E "
    "'^(permitrootlogin|passwordauthentication|kbdinteractiveauthentication|permitemptypasswords) '\nexit 0\n"
)
DROPPED, REFUSED, OPEN = "dropped", "refused", "open"


def looks(scene: Scene, see: Evidence, hosts: Sequence[Host] | None = None) -> Iterator[tuple[Host, Look]]:
    """Those of Kafka and of ZooKeeper, unless said otherwise."""
    for host in scene.services if hosts is None else hosts:
        look = scene.looks.get(host.name)
        if look is None:
            see.unknown(f"{host.name}: {scene.unseen.get(host.name, 'there is no ssh access to it')}")
        else:
            yield host, look


@check(
    57, "The service is nobody special", tried="/proc/PID/status of the service; a login and sudo as its user; the "
    "rules that sudo has for it",
    where=KERNEL, expected="no root, no capability, no way to new privileges, no login shell, no rule of sudo",
    fix="User=kafka, NoNewPrivileges=yes, CapabilityBoundingSet= in the unit; shell nologin.",
)  # fmt: skip
def nobody_special(scene: Scene, see: Evidence) -> None:
    for host, look in looks(scene, see):
        ids = {*look.status("Uid").split(), *look.status("Gid").split(), *look.status("Groups").split()}
        see.expect("0" not in ids and "?" not in ids, f"{host.name}: {look.user}, uid and gid {sorted(ids)}")
        caps = {name: look.status(name) for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")}
        see.expect(all(not value.strip("0") for value in caps.values()), f"{host.name}: {caps}")
        see.expect(look.status("NoNewPrivs") == "1", f"{host.name}: NoNewPrivs {look.status('NoNewPrivs')}")
        login = look["login"]
        see.expect("logged-in" not in login, f"{host.name}: a login of {look.user}: {login[:80] or 'nothing'}")
        see.expect("became-root" not in look["sudo"], f"{host.name}: sudo: {look['sudo'][:80]}")
        rules = " ".join(look["sudoers"].partition(MAY_RUN)[2].split())
        see.expect(
            MAY_RUN not in look["sudoers"], f"{host.name}: rules of sudo for {look.user}: {rules[:80] or 'none'}"
        )


@check(
    58, "What the service keeps is closed to others", tried="read configuration, keys, data and logs as nobody; modes "
    "and owners of files", where=KERNEL, expected="nobody can read none of it; settings and keys are root's, the "
    "service's group may read them and others have no right; no copy of them lies in a temporary folder",
    fix="Run the play again: it sets modes and owners.",
)  # fmt: skip
def closed(scene: Scene, see: Evidence) -> None:
    for host, look in looks(scene, see):
        conf = (look.lines("places") or [""])[0]
        see.twin(bool(look["nobody"]), f"{host.name}: nobody can read what is open to all")
        see.expect(not look["readable"], f"{host.name}: readable to nobody: {look['readable'] or 'nothing'}")
        entries = [line.split(maxsplit=4) for line in look.lines("modes")]
        if not see.twin(bool(entries), f"{host.name}: {len(entries)} entries under {conf}"):
            continue
        for told, found in wide_open(entries, look["group"]).items():
            see.expect(not found, f"{host.name}: {told} under {conf}: {', '.join(found) or 'nothing'}")
        owners = [line.split(maxsplit=2) for line in look.lines("owners")]
        see.twin(bool(owners), f"{host.name}: {len(owners)} folders of data and logs")
        for mode, owner, path in owners:
            well = owner == look.user and not int(mode, 8) & OTHERS
            see.expect(well, f"{host.name}: {path} {mode} {owner}")
        see.expect(not look["temporary"], f"{host.name}: in temporary folders: {look['temporary'] or 'nothing'}")


def wide_open(entries: Sequence[Sequence[str]], group: str) -> dict[str, list[str]]:
    """What is wrong about modes, owners and groups (mode, owner, group, kind, path) beside the settings."""
    found: dict[str, list[str]] = {}
    for mode, owner, its, kind, path in entries:
        bits, name = int(mode, 8), path.rpartition("/")[2]
        shown = f"{path} {mode} {owner}:{its}"
        wrong = {
            "not root's": owner != "root",
            "of a group that is not the service's": bool(bits & GROUP) and its not in {"root", group},
            "the group may write": bool(bits & GROUP_WRITE),
            # What a certificate says, and how logs are written, may be known.
            "open to others": bool(bits & OTHERS) and not (kind == "f" and PUBLIC.search(name) and not bits & 0o003),
        }
        for told, is_ in wrong.items() if kind != "l" else ():
            found.setdefault(told, []).extend([shown] if is_ else [])
    return found


@check(
    59, "Secrets are seen nowhere", tried="look for every password and key at hand, the login to hosts, Pulumi's "
    "passphrase and keys of hosts' own, plain, in base64, hex and as in a URL, in command lines, environments, units, "
    "journals, logs, temporary files and homes of hosts; in runs, reports, Pulumi's state, the git tree, what Ansible "
    "keeps (log, caches, files it left) and command lines here",
    where=f"{KERNEL}; {HERE}",
    expected="not one is found; a word that is there is found", bound_s=300.0,
    fix="Change the secret, then keep it off command lines, environments and logs: the place says who wrote it.",
)  # fmt: skip
def nowhere(scene: Scene, see: Evidence) -> None:
    secrets = traces.secrets_of(scene.cluster)
    if not secrets:
        see.unknown("no secret is at hand that could be looked for")
        return
    prints: dict[str, str] = {}
    for host in scene.cluster.hosts:
        if host.login is None:
            see.unknown(f"{host.name}: there is no ssh access to it")
            continue
        with apart(see, host.name):
            told = traces.leaks(host, scene.cluster.service, secrets, see)
            prints |= {one: f"{host.name}'s key {path}" for one, path in told.prints.items()}
            known = len(secrets) + len(told.prints)  # the ones at hand, and keys that the host made for itself
            see.expect(not told.found, f"{host.name}: of {known} secrets: {'; '.join(told.found) or 'none'}")
    searched = traces.here(scene.cluster, secrets, prints)
    beyond = f"; {searched.ledgers_left} files of runs' ledgers beyond the bound" if searched.ledgers_left else ""
    see.twin(searched.size > 0, f"{HERE}: {searched.size:,} bytes looked through{beyond}")
    see.expect(not searched.found, f"{HERE}: of {len(secrets)} secrets: {'; '.join(searched.found) or 'none'}")
    if searched.left:
        see.unknown(f"{HERE}: not looked at: {'; '.join(searched.left[:10])}")


def told_to_java(look: Look) -> list[str]:
    """Options on the command line, and those that Java takes from its environment."""
    return [*look.lines("cmdline"), *(word for line in look.lines("java") for word in line.partition("=")[2].split())]


@check(
    60, "No door for debuggers and JMX", tried="the service's command line, what Java takes from its environment, what "
    "it has loaded, and its listening sockets", where=KERNEL,
    expected="no debugger, no remote JMX, no agent; no socket but the declared listeners",
    fix="Remove JMX_PORT, -agentlib:jdwp, -javaagent from kafka_jvm_options or the unit's drop-ins.",
)  # fmt: skip
def no_doors(scene: Scene, see: Evidence) -> None:
    for host, look in looks(scene, see):
        see.twin(bool(look["cmdline"]), f"{host.name}: the service has a command line")
        holes = [line[:80] for line in told_to_java(look) if any(word in line for word in REMOTE_HOLES)]
        see.expect(not holes, f"{host.name}: {holes or 'no hole on the command line or in the environment'}")
        agents = look.lines("agents")
        see.expect(not agents, f"{host.name}: agents in the process: {agents or 'none'}")
        extra = sorted({port for _, port, own in look.listening if own} - declared_ports(scene, host))
        see.expect(not extra, f"{host.name}: undeclared sockets of the service: {extra or 'none'}")


@check(
    61, "The cage holds", tried="systemd-analyze security; writing and looking around inside the service's own mounts",
    where=KERNEL, expected=f"exposure at most {EXPOSURE_MOST}; /etc cannot be written, homes are not seen, system "
    "calls are filtered", fix="Remove the drop-in that weakens the unit (systemctl cat), run the play again.",
)  # fmt: skip
def cage(scene: Scene, see: Evidence) -> None:
    for host, look in looks(scene, see):
        words = look["exposure"].rpartition(": ")[2].split()
        score = float(words[0]) if words and words[0].replace(".", "").isdigit() else None
        if score is None:
            see.unknown(f"{host.name}: systemd-analyze says nothing: {look['exposure'][:80]}")
        else:
            see.expect(score <= EXPOSURE_MOST, f"{host.name}: exposure {score}")
        see.expect(look.status("Seccomp") == SECCOMP_FILTER, f"{host.name}: Seccomp {look.status('Seccomp')}")
        see.expect("Read-only" in look["written"], f"{host.name}: writing /etc: {look['written'][:80] or 'done'}")
        see.expect(not _names(look["homes"]), f"{host.name}: homes: {_names(look['homes']) or 'not seen'}")


def _names(listed: str) -> list[str]:
    return [line for line in listed.splitlines() if line.strip() and not line.endswith(":") and "ls:" not in line]


@check(
    62, "No memory is written to disks", tried="limits of the process, what Java was told on its command line and in "
    "its environment, and a look for dumps where it works, keeps data and logs, and where systems put them",
    where=KERNEL, expected="core dumps limited to 0, no heap dumps asked for, none lying about",
    fix="LimitCORE=0; no -XX:+HeapDumpOnOutOfMemoryError, or into a folder that is closed to others.",
)  # fmt: skip
def no_dumps(scene: Scene, see: Evidence) -> None:
    for host, look in looks(scene, see):
        core = limit(look, "Max core file size")
        see.expect(core == "0", f"{host.name}: core files up to {core}")
        heap = [line for line in told_to_java(look) if "+HeapDump" in line]
        see.expect(not heap, f"{host.name}: {heap or 'no heap dumps asked for'}")
        see.expect(not look["dumps"], f"{host.name}: dumps: {look['dumps'] or 'none'}")


def limit(look: Look, name: str) -> str:
    """The soft limit of a name in /proc/PID/limits."""
    found = next((line for line in look.lines("limits") if line.startswith(name)), name + " ?")
    return found.removeprefix(name).split()[0]


@check(
    63, "New files are closed, and there are enough of them", tried="umask and limits of the process", where=KERNEL,
    expected=f"umask 0027 or stricter; at least {FILES_LEAST} open files",
    fix="UMask=0027 and LimitNOFILE in the unit.",
)  # fmt: skip
def limits(scene: Scene, see: Evidence) -> None:
    for host, look in looks(scene, see):
        umask = look.status("Umask")
        well = umask.isdigit() and int(umask, 8) & 0o027 == 0o027  # noqa: PLR2004  a mask
        see.expect(well, f"{host.name}: umask {umask}")
        files = limit(look, "Max open files")
        see.expect(files == "unlimited" or int(files) >= FILES_LEAST, f"{host.name}: {files} open files")


@check(
    64, "sshd takes keys alone, and not for root", tried="a login that offers nothing; a login as root with the key "
    "that opens the login user; sshd -T for root", where=f"{HERE}; {KERNEL}",
    expected="sshd offers publickey alone; root is refused, and not let in by sshd's own account",
    fix="PasswordAuthentication no, KbdInteractiveAuthentication no, PermitRootLogin no in sshd_config.d.",
)  # fmt: skip
def keys_alone(scene: Scene, see: Evidence) -> None:
    for host in scene.cluster.hosts:
        if host.login is None:
            see.unknown(f"{host.name}: there is no ssh access to it")
            continue
        root = replace(host, login=replace(host.login, user="root"))
        _offers_keys_alone(see, host, _ssh(host, "PreferredAuthentications=none"))
        if host != root:
            told = _ssh(root, "PreferredAuthentications=publickey")
            let_in(see, told, f"{host.name}: root with the key: {told[-80:]}")
            # A refusal names what else is offered. No further try: from OpenSSH 9.8 on each brings a ban nearer.
            if DENIED in told:
                _offers_keys_alone(see, root, told)
        told = _ssh(host, "PreferredAuthentications=publickey")
        if see.twin(told.endswith("let-in"), f"{host.name}: {host.login.user} with the key: {told[-80:]}"):
            with apart(see, f"{host.name}: what sshd has in force"):
                in_force = over_ssh(host, SSHD, timeout_s=30.0)
                loose = _loose(in_force, spared="" if host != root else "permitrootlogin")
                if in_force.strip():
                    told = f"{host.name}: sshd has for root {', '.join(loose) or 'nothing that lets it in'}"
                    see.expect(not loose, told)
                else:
                    see.note(f"{host.name}: sshd -T does not say what is in force for root")


def _offers_keys_alone(see: Evidence, host: Host, told: str) -> None:
    assert host.login is not None  # noqa: S101  looked at before
    offered = told.rpartition("(")[2].partition(")")[0] if DENIED in told else ""
    if offered:
        see.expect(offered == "publickey", f"{host.name}: sshd offers {host.login.user} {offered}")
    else:
        let_in(see, told, f"{host.name}: {host.login.user} with nothing: {told[-80:]}")


def let_in(see: Evidence, told: str, shown: str) -> None:
    """A host that is not there has refused nobody."""
    if DENIED in told or told.endswith("let-in"):
        see.expect(DENIED in told, shown)
    else:
        see.unknown(shown)


def _loose(told: str, *, spared: str) -> list[str]:
    """Of sshd's own account of what is in force for root: refusing a key it does not know shows nothing of it."""
    return [line for line in told.splitlines() if line.partition(" ")[2] == "yes" and line.partition(" ")[0] != spared]


def _ssh(host: Host, option: str) -> str:
    assert host.login is not None  # noqa: S101  looked at before
    argv = ssh_argv(host.login, "echo let-in")
    done = subprocess.run(
        [argv[0], "-o", option, *argv[1:]], capture_output=True, text=True, check=False, timeout=30,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return (done.stdout + done.stderr).strip()


def knock(address: str, port: int) -> str:
    try:
        socket.create_connection((address, port), timeout=1.5).close()
    except ConnectionRefusedError:
        return REFUSED
    except OSError:
        return DROPPED
    return OPEN


@check(
    65, "The packet filter drops what is not declared", tried="connections to ports where nobody listens, and to "
    "undeclared ones that are often let through, from outside; to some on the host itself", where=f"{HERE}; {KERNEL}",
    expected="from outside no answer at all, on the host itself a refusal; a declared port answers",
    fix="host_firewall: true; the unit kastellan-firewall.service loads the rules at boot.",
)  # fmt: skip
def filtered(scene: Scene, see: Evidence) -> None:
    deaf = {
        host: sorted({*DEAF_PORTS, *KNOWN_PORTS} - declared_ports(scene, host)) for host in scene.cluster.hosts
    }  # fmt: skip
    doors = [(host.address, port) for host, ports in deaf.items() for port in ports]
    with ThreadPoolExecutor(SCANNERS) as pool:
        heard = dict(zip(doors, pool.map(lambda door: knock(*door), doors), strict=True))
    for host, ports in deaf.items():
        loud = [f"port {port} from outside: {heard[host.address, port]}" for port in ports]
        loud = [told for told in loud if not told.endswith(DROPPED)]
        see.expect(not loud, f"{host.name}: {'; '.join(loud) or f'{len(ports)} ports from outside: {DROPPED}'}")
        if host.login is None:
            see.unknown(f"{host.name}: there is no ssh access to it")
            continue
        # 1: refused at once, 124: no answer in time.
        one = "timeout 2 bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT' < /dev/null 2> /dev/null; echo $?\n"
        script = "".join(one.replace("PORT", str(port)) for port in DEAF_PORTS)
        with apart(see, host.name):
            inside = over_ssh(host, script, timeout_s=30.0).split()
            see.twin(set(inside) == {"1"}, f"{host.name}: on itself they are refused, not dropped")
        see.twin(knock(host.address, host.login.port) == OPEN, f"{host.name}: ssh answers from outside")


@check(
    66, "Clocks agree", tried="each host's clock between two looks at the one here", where=f"{HERE}; {KERNEL}",
    expected=f"less than {CLOCKS_MOST_S} s apart from here and from each other", fix="Turn time synchronisation on.",
)  # fmt: skip
def clocks(scene: Scene, see: Evidence) -> None:
    apart_s: dict[str, float] = {}
    for host in scene.cluster.hosts:
        if host.login is None:
            see.unknown(f"{host.name}: there is no ssh access to it")
            continue
        with apart(see, host.name):
            offset, error = clock_of(host)
            apart_s[host.name] = offset
            told = f"{host.name}: {offset * 1000:+.0f} ms, known to {error * 1000:.0f} ms"
            if abs(offset) - error < CLOCKS_MOST_S <= abs(offset) + error:
                see.unknown(told)  # it may be either
            else:
                see.expect(abs(offset) + error < CLOCKS_MOST_S, told)
    if len(apart_s) > 1:
        span = max(apart_s.values()) - min(apart_s.values())
        see.expect(span < CLOCKS_MOST_S, f"among themselves {span * 1000:.0f} ms")


def clock_of(host: Host) -> tuple[float, float]:
    """How far it is ahead of ours, and how well that is known: the best of five looks over one connection."""
    assert host.login is not None  # noqa: S101  looked at before
    process = subprocess.Popen(
        ssh_argv(host.login, "while read -r _; do date +%s.%N; done"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    best = (0.0, float("inf"))
    try:
        assert process.stdin is not None  # noqa: S101  asked for above
        assert process.stdout is not None  # noqa: S101
        for _ in range(5):
            before = time.time()
            with contextlib.suppress(BrokenPipeError):  # who has hung up says so by telling nothing
                process.stdin.write("\n")
                process.stdin.flush()
            if not (line := process.stdout.readline()):
                raise NoAnswer("it does not tell the time")
            there = float(line)
            after = time.time()
            best = min(best, (there - (before + after) / 2, (after - before) / 2), key=lambda pair: pair[1])
    finally:
        process.kill()
        process.communicate()
    return best
