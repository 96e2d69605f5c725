"""Looks at an ensemble from a broker's host, the only one with a certificate that it lets in."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from tests.system.lab import ROOT

if TYPE_CHECKING:
    from tests.system.lab import Lab

CLIENT = ROOT / "plugins/module_utils/zookeeper_client.py"
# As a broker logs in, behind the source of the roles' own client; the server's address is the first word.
SESSION = """
import json, sys
with Session(sys.argv[1], 2182, Login("/etc/kafka/ssl/zookeeper.pem", "/etc/kafka/ssl/zookeeper-ca.pem")) as session:
""".strip()
WALK = f"""
{SESSION}
    found, waiting = {{}}, ["/"]
    while waiting:
        path = waiting.pop()
        found[path] = shown(session.acl(path) or [])
        waiting += [f"{{path.rstrip('/')}}/{{name}}" for name in session.children(path)]
print(json.dumps(found))
"""


def on_broker(lab: Lab, script: str, *words: str) -> str:
    text = base64.b64encode(script.encode()).decode()
    return lab.ssh("broker-1", f"echo {text} | base64 -d | sudo python3 - {' '.join(words)} 2>&1")


def by_client(lab: Lab, script: str, *words: str) -> str:
    return on_broker(lab, CLIENT.read_text(encoding="utf-8") + script, *words)


def nodes(lab: Lab, address: str) -> dict[str, str]:
    """Every node, and who may do what with it."""
    said = by_client(lab, WALK, address)
    found: dict[str, str] = json.loads(said.splitlines()[-1])
    return found
