"""Runs as the first process in the root with Debian's OpenStack: `prepare` makes it ready once, `serve` runs it.

By Debian's own Python, without any package of ours. All is root's, as nothing but this namespace is within reach.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = Path("/kastellan")
LOGS = HERE / "logs"
PASSWORD = HERE / "password"
SOCKET = "/run/mysqld/mysqld.sock"
DATABASES = ("keystone", "placement", "glance", "neutron", "nova", "nova_api", "nova_cell0", "cinder")
START_TIMEOUT_S = 300
KEYSTONE = "http://127.0.0.1:5000/v3"
# What speaks HTTP: name -> port, WSGI program, processes. One thread each: some have threads of their own making
# (eventlet), and with real ones besides, requests were seen to wait for ever.
APIS = {
    "keystone": (5000, "/usr/bin/keystone-wsgi-public", 3),
    "placement": (8778, "/usr/bin/placement-api", 2),
    "nova": (8774, "/usr/bin/nova-api-wsgi", 3),
    "cinder": (8776, "/usr/bin/cinder-wsgi", 2),
}
NEUTRON_FILES = ("--config-file", "/etc/neutron/neutron.conf", "--config-file", "/etc/neutron/plugins/ml2/ml2_conf.ini")
WORKERS = {
    "glance": ("glance-api",),
    "neutron": ("neutron-server", *NEUTRON_FILES),
    "nova-conductor": ("nova-conductor",),
    "nova-scheduler": ("nova-scheduler",),
    "nova-compute": ("nova-compute", "--config-file", "/etc/nova/nova.conf"),
    "cinder-scheduler": ("cinder-scheduler",),
    "cinder-volume": ("cinder-volume",),
}
# All that must answer; the last two have servers of their own.
PORTS = {**{name: port for name, (port, *_) in APIS.items()}, "neutron": 9696, "glance": 9292}
SERVICES = {
    "placement": ("placement", "http://127.0.0.1:8778"),
    "glance": ("image", "http://127.0.0.1:9292"),
    "neutron": ("network", "http://127.0.0.1:9696"),
    "nova": ("compute", "http://127.0.0.1:8774/v2.1"),
    "cinder": ("volumev3", "http://127.0.0.1:8776/v3/%(project_id)s"),
}
BUS = "rabbit://guest:guest@127.0.0.1:5672/"


def database(name: str) -> str:
    return f"mysql+pymysql://root@localhost/{name}?unix_socket={SOCKET}&charset=utf8"


def access(section: str, password: str) -> dict[str, dict[str, str]]:
    """How a service logs in at Keystone: one user does for all."""
    return {
        section: {
            "auth_url": KEYSTONE, "auth_type": "password", "username": "admin", "password": password,
            "project_name": "admin", "user_domain_id": "default", "project_domain_id": "default",
            "region_name": "test",
        }
    }  # fmt: skip


def token_check(password: str) -> dict[str, dict[str, str]]:
    [told] = access("keystone_authtoken", password).values()
    return {
        "keystone_authtoken": {
            **told, "www_authenticate_uri": KEYSTONE, "memcached_servers": "127.0.0.1:11211", "service_token_roles": "service",
            "service_token_roles_required": "true",
        }
    }  # fmt: skip


def settings(password: str) -> dict[str, dict[str, dict[str, str]]]:
    """File -> section -> key -> value; these are whole files, what Debian put there goes."""
    check = token_check(password)
    bus = {"transport_url": BUS}
    return {
        "keystone/keystone.conf": {
            "database": {"connection": database("keystone")},
            "token": {"provider": "fernet"},
            "cache": {"enabled": "true", "backend": "dogpile.cache.memcached", "memcache_servers": "127.0.0.1:11211"},
        },
        "placement/placement.conf": {
            "api": {"auth_strategy": "keystone"}, "placement_database": {"connection": database("placement")}, **check,
        },
        "glance/glance-api.conf": {
            "DEFAULT": {"enabled_backends": "files:file", "workers": "0", "bind_host": "127.0.0.1"}, "database": {"connection": database("glance")},
            "glance_store": {"default_backend": "files"}, "files": {"filesystem_store_datadir": "/var/lib/glance/images"},
            "paste_deploy": {"flavor": "keystone"}, **check,
        },
        "neutron/neutron.conf": {
            "DEFAULT": {
                **bus, "bind_host": "127.0.0.1", "core_plugin": "ml2", "service_plugins": "router", "api_workers": "1", "rpc_workers": "0",
                "notify_nova_on_port_status_changes": "false", "notify_nova_on_port_data_changes": "false",
            },
            "database": {"connection": database("neutron")}, **check,
        },
        "neutron/plugins/ml2/ml2_conf.ini": {
            "ml2": {
                "type_drivers": "local", "tenant_network_types": "local", "mechanism_drivers": "no_switch",
                "extension_drivers": "port_security",
            },
        },
        "nova/nova.conf": nova_settings(password),
        "cinder/cinder.conf": {
            "DEFAULT": {**bus, "auth_strategy": "keystone", "enabled_backends": "none", "glance_api_servers": "http://127.0.0.1:9292"},
            "none": {"volume_driver": "no_disks.NoDisks", "volume_backend_name": "none"},
            "database": {"connection": database("cinder")},
            "oslo_concurrency": {"lock_path": "/run/lock"}, **check,
        },
    }  # fmt: skip


def nova_settings(password: str) -> dict[str, dict[str, str]]:
    return {
        "DEFAULT": {
            "transport_url": BUS, "compute_driver": "fake.FakeDriver", "vif_plugging_is_fatal": "false",
            "vif_plugging_timeout": "0", "state_path": "/var/lib/nova", "osapi_compute_workers": "1",
        },
        "conductor": {"workers": "1"},
        "scheduler": {"workers": "1"},
        "filter_scheduler": {"enabled_filters": "ComputeFilter,ImagePropertiesFilter,ServerGroupAntiAffinityFilter"},
        "api_database": {"connection": database("nova_api")},
        "database": {"connection": database("nova")},
        "oslo_concurrency": {"lock_path": "/run/lock"},
        "glance": {"api_servers": "http://127.0.0.1:9292"},
        "cinder": {"os_region_name": "test"},
        **token_check(password), **access("placement", password), **access("neutron", password),
        "service_user": {"send_service_user_token": "true", **access("service_user", password)["service_user"]},
    }  # fmt: skip


def write_settings(password: str) -> None:
    for name, sections in settings(password).items():
        lines = [
            f"[{section}]\n" + "".join(f"{k} = {v}\n" for k, v in told.items()) for section, told in sections.items()
        ]
        Path("/etc", name).write_text("\n".join(lines))
    Path("/etc/nova/nova-compute.conf").unlink(missing_ok=True)  # it says libvirt
    Path("/etc/rabbitmq/rabbitmq-env.conf").write_text(
        "NODENAME=rabbit@localhost\nexport ERL_EPMD_ADDRESS=127.0.0.1\n"
        'SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"\n'
    )
    Path("/etc/rabbitmq/rabbitmq.conf").write_text("listeners.tcp.1 = 127.0.0.1:5672\n")
    entry = Path("/usr/lib/python3/dist-packages/no_switch-1.egg-info")
    entry.mkdir(exist_ok=True)
    (entry / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: no-switch\nVersion: 1\n")
    (entry / "entry_points.txt").write_text("[neutron.ml2.mechanism_drivers]\nno_switch = no_switch:NoSwitch\n")


def run(*argv: str) -> None:
    with (LOGS / "commands.log").open("ab") as log:
        log.write(f"$ {' '.join(argv)}\n".encode())
        log.flush()
        subprocess.run(argv, check=True, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def run_all(chain: Iterable[tuple[str, ...]]) -> None:
    for argv in chain:
        run(*argv)


def begin(name: str, *argv: str, **more: str) -> subprocess.Popen[bytes]:
    with (LOGS / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, env={**os.environ, **more}
        )


def until(what: str, test: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while not test():
        if time.monotonic() > deadline_s:
            sys.exit(f"{what} does not come up; its words are in {LOGS}")
        time.sleep(0.2)


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


def answers(port: int) -> bool:
    """Any answer of the program itself, were it a refusal."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def start_ground() -> dict[str, subprocess.Popen[bytes]]:
    for folder in ("/run/mysqld", "/run/lock", "/run/rabbitmq"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    subprocess.run(["chown", "mysql:", "/run/mysqld"], check=True)
    subprocess.run(["chown", "-R", "rabbitmq:", "/run/rabbitmq", "/var/lib/rabbitmq", "/var/log/rabbitmq"], check=True)
    # What is lost with the power is of no interest: the root is thrown away.
    quick = ("--innodb-flush-log-at-trx-commit=0", "--skip-sync-frm", "--innodb-doublewrite=0", "--max-connections=500")
    running = {
        "mariadb": begin(
            "mariadb", "mariadbd", "--user=mysql", "--skip-networking", f"--socket={SOCKET}", quick[0], *quick[2:]
        ),
        "rabbitmq": begin("rabbitmq", "/usr/sbin/rabbitmq-server", HOME="/var/lib/rabbitmq"),
        "memcached": begin("memcached", "memcached", "-u", "nobody", "-l", "127.0.0.1"),
    }
    until(
        "MariaDB", lambda: subprocess.run(["mariadb-admin", "ping"], capture_output=True, check=False).returncode == 0
    )
    until("RabbitMQ", lambda: listens(5672))
    return running


def start_apis(names: Iterable[str]) -> dict[str, subprocess.Popen[bytes]]:
    running = {}
    for name in names:
        port, program, processes = APIS[name]
        running[name] = begin(
            name, "uwsgi_python3", "--http-socket", f"127.0.0.1:{port}", "--wsgi-file", program, "--master",
            "--processes", str(processes), "--threads", "1", "--enable-threads", "--lazy-apps", "--die-on-term",
            "--buffer-size", "65535", "--add-header", "Connection: close",
        )  # fmt: skip
    return running


def start_all() -> dict[str, subprocess.Popen[bytes]]:
    running = start_ground() | start_apis(APIS)
    running |= {name: begin(name, *argv) for name, argv in WORKERS.items()}
    wait_for_all()
    until("Nova's and Cinder's services", all_report)
    return running


def all_report() -> bool:
    """What they said in an earlier life is too old to count."""
    import openstack  # noqa: PLC0415 - there only

    cloud = openstack.connect(cloud="test")
    storage = cloud.block_storage.get("/os-services").json()["services"]
    return all(
        state == "up" for state in [one.state for one in cloud.compute.services()] + [it["state"] for it in storage]
    )


def wait_for_all() -> None:
    for name, port in PORTS.items():
        until(name, partial(answers, port))


def keep(running: dict[str, subprocess.Popen[bytes]]) -> None:
    """Of all that runs, the databases alone are worth keeping; the rest goes with the namespace."""
    for name, process in running.items():
        if name != "mariadb":
            process.kill()
    running["mariadb"].send_signal(signal.SIGTERM)
    running["mariadb"].wait(START_TIMEOUT_S)
    shutil.rmtree("/var/lib/rabbitmq/mnesia", ignore_errors=True)


def migrate() -> None:
    for name in DATABASES:
        run("mariadb", "-e", f"CREATE DATABASE {name} CHARACTER SET utf8")
    run("keystone-manage", "fernet_setup", "--keystone-user", "root", "--keystone-group", "root")
    chains = (
        (("keystone-manage", "db_sync"),),
        (("placement-manage", "db", "sync"), ("glance-manage", "db_sync")),
        (("neutron-db-manage", *NEUTRON_FILES, "upgrade", "head"),),
        (
            ("nova-manage", "api_db", "sync"), ("nova-manage", "cell_v2", "map_cell0", "--database_connection", database("nova_cell0")),
            ("nova-manage", "db", "sync"), ("nova-manage", "cell_v2", "create_cell", "--name=cell1"),
        ),
        (("cinder-manage", "db", "sync"),),
    )  # fmt: skip
    with ThreadPoolExecutor(2) as lanes:
        for done in [lanes.submit(run_all, chain) for chain in chains]:
            done.result()


def seed() -> None:
    """What an operator of a cloud has made: the catalogue, a flavor, an image, a way out."""
    import openstack  # noqa: PLC0415 - there only

    cloud = openstack.connect(cloud="test")
    role = cloud.identity.create_role(name="service")
    cloud.grant_role(role.name, user="admin", project="admin")
    for name, (kind, url) in SERVICES.items():
        service = cloud.identity.create_service(name=name, type=kind)
        for interface in ("public", "internal"):
            cloud.identity.create_endpoint(service_id=service.id, interface=interface, url=url, region_id="test")


def furnish() -> None:
    import openstack  # noqa: PLC0415 - there only

    cloud = openstack.connect(cloud="test")
    cloud.set_compute_quotas("admin", cores=-1, ram=-1, instances=-1)
    cloud.compute.create_flavor(name="m1.medium", ram=4096, vcpus=2, disk=10, is_public=False)
    cloud.compute.create_flavor(name="m1.tiny", ram=512, vcpus=1, disk=1)
    cloud.create_image(
        "debian-12", data=b"no disk", disk_format="raw", container_format="bare", wait=True, validate_checksum=False
    )
    cloud.network.create_network(name="public", is_router_external=True)


def prepare() -> None:
    LOGS.mkdir(parents=True)
    password = secrets.token_urlsafe(16)
    PASSWORD.write_text(password)
    write_clouds(password)
    write_settings(password)
    running = start_ground()
    migrate()
    run(
        "keystone-manage", "bootstrap", "--bootstrap-password", password, "--bootstrap-region-id", "test",
        "--bootstrap-public-url", KEYSTONE, "--bootstrap-internal-url", KEYSTONE,
    )  # fmt: skip
    running |= start_apis(["keystone"])
    until("keystone", lambda: answers(5000))
    seed()
    running |= start_apis([name for name in APIS if name != "keystone"])
    running |= {name: begin(name, *argv) for name, argv in WORKERS.items()}
    wait_for_all()
    furnish()
    until("nova-compute", discovered)
    keep(running)


def discovered() -> bool:
    said = subprocess.run(
        ["nova-manage", "cell_v2", "discover_hosts", "--verbose"], capture_output=True, text=True, check=False
    ).stdout
    return re.search(r"Found [1-9]\d* unmapped computes", said) is not None


def write_clouds(password: str) -> None:
    """For OpenStack's own tools and Pulumi's plugin alike."""
    folder = Path("/etc/openstack")
    folder.mkdir(exist_ok=True)
    (folder / "clouds.yaml").write_text(
        "clouds:\n  test:\n    region_name: test\n    auth:\n"
        f"      auth_url: {KEYSTONE}\n      username: admin\n      password: {password}\n      project_name: admin\n"
        "      user_domain_id: default\n      project_domain_id: default\n"
    )


def serve() -> None:
    began_s = time.monotonic()
    start_all()
    print(f"ready after {time.monotonic() - began_s:.0f} s", flush=True)
    sys.stdin.read()  # its end is the end of whoever started this, also when they were killed


if __name__ == "__main__":
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    socket.sethostname("cloud")
    {"prepare": prepare, "serve": serve}[sys.argv[1]]()
