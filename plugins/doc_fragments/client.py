"""Parameters that all modules of the collection share."""

from __future__ import annotations


class ModuleDocFragment:
    """How a cluster is reached (DOCUMENTATION) and what happens to what is not declared (STRAYS)."""

    DOCUMENTATION = r"""
options:
  bootstrap_servers:
    description:
      - Brokers to begin with, each as C(host:port); one string with commas works too.
      - Without it, C(bootstrap.servers) of O(client) is taken.
    type: list
    elements: str
  client:
    description:
      - How to connect, in the names of librdkafka, so the content of C(clients/<user>/librdkafka.json) fits.
      - It is never logged. SASL mechanisms are V(PLAIN), V(SCRAM-SHA-256) and V(SCRAM-SHA-512).
    type: dict
    suboptions:
      bootstrap.servers:
        description: Brokers, if O(bootstrap_servers) is not set.
        type: str
      client.id:
        description: Name of this client in the brokers' logs and quotas.
        type: str
        default: kastellan
      enable.ssl.certificate.verification:
        description: Set V(false) to trust any certificate. Never do that where it matters.
        type: bool
        default: true
      sasl.mechanism:
        description: Needed with V(SASL_SSL) and V(SASL_PLAINTEXT).
        type: str
        aliases: [sasl.mechanisms]
      sasl.password:
        description: Password of O(client.sasl.username).
        type: str
      sasl.username:
        description: Who logs in. This user is protected from removal, whatever is declared.
        type: str
      security.protocol:
        description: V(PLAINTEXT), V(SSL), V(SASL_PLAINTEXT) or V(SASL_SSL), in capitals or not.
        type: str
        default: PLAINTEXT
      ssl.ca.location:
        description: File with the authorities to trust. Without one, those of the system.
        type: path
      ssl.ca.pem:
        description: The same as text.
        type: str
      ssl.certificate.location:
        description: File with the client's certificate.
        type: path
      ssl.certificate.pem:
        description: The same as text.
        type: str
      ssl.endpoint.identification.algorithm:
        description: Whether the broker's name must stand in its certificate.
        type: str
        choices: [https, none]
        default: https
      ssl.key.location:
        description: File with the key of the client's certificate.
        type: path
      ssl.key.password:
        description: Password of that key.
        type: str
      ssl.key.pem:
        description: The key as text.
        type: str
  timeout_s:
    description: Bound, in seconds, for connecting, for each answer, and for a change to be seen.
    type: float
    default: 30
requirements:
  - kafka-python >= 3, for the Python that runs the module (delegate to the controller with its own Python)
notes:
  - Runs against Kafka with KRaft and with ZooKeeper.
  - Nothing is started on a broker and no JVM is needed.
"""

    STRAYS = r"""
options:
  remove_strays:
    description:
      - Whether what the cluster has and is not declared is removed. Without it, it is only reported.
      - An empty list of declarations together with this is refused.
    type: bool
    default: false
  ignore_strays:
    description: Shell patterns of names that are no strays, for instance of other teams.
    type: list
    elements: str
    default: []
"""
