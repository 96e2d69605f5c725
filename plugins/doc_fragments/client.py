"""Parameters that all modules of the collection share."""

from __future__ import annotations


class ModuleDocFragment:
    """How a cluster is reached, what happens to what is not declared, and the lists that two modules take."""

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

    TOPICS = r"""
options:
  topics:
    description:
      - All topics to manage.
      - Internal ones (C(__*)) are never deleted, and of their settings only declared ones are touched.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the topic. Two names that differ only in C(.) and C(_) are refused, as Kafka does.
        type: str
        required: true
      state:
        description: Whether it is to be there. V(absent) deletes it with its data.
        type: str
        choices: [present, absent]
        default: present
      partitions:
        description: How many. Without it, the cluster's default for a new topic, or what an existing one has.
        type: int
      replication_factor:
        description: How many replicas. Without it, the cluster's default for a new topic, or what an existing one has.
        type: int
      config:
        description: Settings of the topic, e.g. C(min.insync.replicas).
        type: dict
        default: {}
"""

    ACLS = r"""
options:
  acls:
    description: All ACLs to manage. Each operation of an entry is an ACL of its own for Kafka.
    type: list
    elements: dict
    suboptions:
      principal:
        description: Who. The kind C(User:) is added where there is none; V(*) is everybody.
        type: str
        required: true
      resource_type:
        description: Kind of the resource.
        type: str
        required: true
        choices: [topic, group, cluster, transactional_id, delegation_token, user]
      name:
        description: Name of the resource, V(*) for all. Not needed for the cluster.
        type: str
        aliases: [resource_name]
      pattern_type:
        description: Whether O(acls[].name) is the whole name or what it begins with.
        type: str
        choices: [literal, prefixed]
        default: literal
      operations:
        description:
          - What is allowed or denied, e.g. V(read), V(write), V(describe), or V(all).
          - An operation that Kafka never asks for on such a resource is refused.
        type: list
        elements: str
        required: true
        aliases: [operation]
      permission:
        description: A denial beats every permission.
        type: str
        choices: [allow, deny]
        default: allow
      host:
        description: Address that the client comes from, V(*) for all.
        type: str
        default: '*'
      state:
        description: Whether it is to be there.
        type: str
        choices: [present, absent]
        default: present
"""

    USERS = r"""
options:
  users:
    description: All users to manage. It is never logged; set C(no_log) on the task as well if you loop over something.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the user, with or without C(User:).
        type: str
        required: true
      password:
        description: Needed unless O(users[].state=absent).
        type: str
      mechanisms:
        description: For each of them the user gets a credential; of others it is taken away.
        type: list
        elements: str
        choices: [SCRAM-SHA-256, SCRAM-SHA-512]
        default: [SCRAM-SHA-512]
      iterations:
        description:
          - How often a password is hashed, V(4096) to V(16384). Kafka's own default is enough for generated passwords.
            Set more for those that people thought of.
        type: int
        default: 4096
      state:
        description: Whether the user is to be there.
        type: str
        choices: [present, absent]
        default: present
"""

    QUOTAS = r"""
options:
  quotas:
    description:
      - All quotas to manage. V(<default>) as a name is all that have no quota of their own.
      - An entry is for a user, a client, a user's client, or an address.
    type: list
    elements: dict
    suboptions:
      user:
        description: Name of the user, with or without C(User:).
        type: str
      client_id:
        description: What a client calls itself (C(client.id)).
        type: str
      ip:
        description: Address that connections come from; cannot be combined.
        type: str
      quotas:
        description: The values. What is left out has no quota.
        type: dict
        suboptions:
          producer_byte_rate:
            description: Bytes a second that may be written to a broker.
            type: float
          consumer_byte_rate:
            description: Bytes a second that may be read from a broker.
            type: float
          request_percentage:
            description: Share of a broker's request threads, in percent of one thread.
            type: float
          controller_mutation_rate:
            description: Partitions a second that may be created or deleted.
            type: float
          connection_creation_rate:
            description: Connections a second that may be opened to a broker, with O(quotas[].ip) alone.
            type: float
      state:
        description: Whether there is to be a quota.
        type: str
        choices: [present, absent]
        default: present
"""
