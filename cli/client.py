"""Write a user's bundle of client files again (ansible-playbook playbooks/client.yml), say where they are and how
clients take them. The password stays in the files (0600), unless --show-secrets.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cli.native import is_ansible_routine, run_shown
from cli.surroundings import DEFAULT_STACK, HOME, checked_stack, lay_out
from common.errors import KastellanError, UsageError
from common.names import nearest

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

HELP = "write a user's client files, say how to use them"
SNIPPET = """
librdkafka, Python    import json, confluent_kafka
                      settings = json.load(open("{folder}/librdkafka.json"))
                      producer = confluent_kafka.Producer(settings)
                      producer.produce("TOPIC", b"hello"); producer.flush()
                      consumer = confluent_kafka.Consumer(
                          {{**settings, "group.id": "mine", "auto.offset.reset": "earliest"}})
                      consumer.subscribe(["TOPIC"]); print(consumer.poll(30).value())
Java tools            on a host, where they are; the file is whole in itself:
                      ./kastellan ssh --stack {stack} {host} 'umask 077; cat > {user}.properties' \\
                          < {folder}/client.properties
                      ./kastellan ssh --stack {stack} {host} kafka-console-consumer.sh --bootstrap-server {server} \\
                          {option} {user}.properties --topic TOPIC --from-beginning --group mine
Spark                 pairs = (line.rstrip("\\n").split("=", 1) for line in open("{folder}/client.properties"))
                      options = {{f"kafka.{{k}}": v.encode().decode("unicode_escape")
                                 .encode("utf-16", "surrogatepass").decode("utf-16") for k, v in pairs}}
                      spark.read.format("kafka").options(**options)
By certificate        client-mtls.properties, librdkafka-mtls.json"""
# Kafka 4.2 gave the console tools one name for it, and warns of the old ones.
ONE_OPTION_SINCE = (4, 2)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user", metavar="USER", help="a user that the stack declares, e.g. usercc")
    parser.add_argument("--stack", default=DEFAULT_STACK, help="default: %(default)s")
    parser.add_argument("--show-secrets", action="store_true", help="print the password as well")


def run(arguments: argparse.Namespace) -> int:
    stack, user = checked_stack(arguments.stack), arguments.user
    lay_out()
    document = described(HOME / stack / "cluster.json", stack)
    if user not in document["users"]:
        raise UsageError(
            f"The cluster of stack {stack} has no user {user!r}.",
            details=f"Declared: {', '.join(document['users'])}.",
            resolution=f"{nearest(user, document['users']).capitalize()} A new one goes into kafka_users.",
        )
    wanted = json.dumps({"kafka_client_users": [user]})
    argv = ["ansible-playbook", "-i", f"inventories/{stack}", "playbooks/client.yml", "-e", wanted]
    run_shown(argv, hide=is_ansible_routine)
    show(HOME / stack / "clients" / user, stack, document, secrets=arguments.show_secrets)
    return 0


def described(path: Path, stack: str) -> dict[str, Any]:
    if not path.exists():
        raise KastellanError(
            f"Stack {stack} has no cluster yet.", details=f"There is no {path}.", resolution=f"./kastellan up {stack}"
        )
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def show(folder: Path, stack: str, document: dict[str, Any], *, secrets: bool) -> None:
    print()
    for path in sorted(folder.iterdir()):
        print(path)
    version = tuple(int(part) for part in document["kafka_version"].split(".")[:2])
    print(
        SNIPPET.format(
            folder=folder,
            stack=stack,
            user=folder.name,
            host=document["hosts"][0]["name"],
            server=document["bootstrap_servers"].partition(",")[0],
            option="--command-config" if version >= ONE_OPTION_SINCE else "--consumer.config",
        )
    )
    if secrets:
        settings = json.loads((folder / "librdkafka.json").read_text(encoding="utf-8"))
        print(f"\nPassword              {settings['sasl.password']}")
