"""Launch scripts with the names that Kafka's own release uses, so that every textbook's command line works."""

from __future__ import annotations

_TOOLS = "org.apache.kafka.tools"
_COMMON = {
    "connect-distributed": "org.apache.kafka.connect.cli.ConnectDistributed",
    "connect-mirror-maker": "org.apache.kafka.connect.mirror.MirrorMaker",
    "connect-plugin-path": f"{_TOOLS}.ConnectPluginPath",
    "connect-standalone": "org.apache.kafka.connect.cli.ConnectStandalone",
    "kafka-client-metrics": f"{_TOOLS}.ClientMetricsCommand",
    "kafka-cluster": f"{_TOOLS}.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": f"{_TOOLS}.consumer.ConsoleConsumer",
    "kafka-consumer-groups": f"{_TOOLS}.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": f"{_TOOLS}.ConsumerPerformance",
    "kafka-delegation-tokens": f"{_TOOLS}.DelegationTokenCommand",
    "kafka-delete-records": f"{_TOOLS}.DeleteRecordsCommand",
    "kafka-e2e-latency": f"{_TOOLS}.EndToEndLatency",
    "kafka-features": f"{_TOOLS}.FeatureCommand",
    "kafka-get-offsets": f"{_TOOLS}.GetOffsetShell",
    "kafka-jmx": f"{_TOOLS}.JmxTool",
    "kafka-leader-election": f"{_TOOLS}.LeaderElectionCommand",
    "kafka-log-dirs": f"{_TOOLS}.LogDirsCommand",
    "kafka-metadata-quorum": f"{_TOOLS}.MetadataQuorumCommand",
    "kafka-producer-perf-test": f"{_TOOLS}.ProducerPerformance",
    "kafka-reassign-partitions": f"{_TOOLS}.reassign.ReassignPartitionsCommand",
    "kafka-replica-verification": f"{_TOOLS}.ReplicaVerificationTool",
    "kafka-server-start": "kafka.Kafka",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-streams-application-reset": f"{_TOOLS}.StreamsResetter",
    "kafka-topics": f"{_TOOLS}.TopicCommand",
    "kafka-transactions": f"{_TOOLS}.TransactionsCommand",
    "kafka-verifiable-consumer": f"{_TOOLS}.VerifiableConsumer",
    "kafka-verifiable-producer": f"{_TOOLS}.VerifiableProducer",
}
_VERSION_4 = {
    "kafka-acls": f"{_TOOLS}.AclCommand",
    "kafka-broker-api-versions": f"{_TOOLS}.BrokerApiVersionsCommand",
    "kafka-console-producer": f"{_TOOLS}.ConsoleProducer",
    "kafka-console-share-consumer": f"{_TOOLS}.consumer.ConsoleShareConsumer",
    "kafka-dump-log": f"{_TOOLS}.DumpLogSegments",
    "kafka-groups": f"{_TOOLS}.GroupsCommand",
    "kafka-share-consumer-perf-test": f"{_TOOLS}.ShareConsumerPerformance",
    "kafka-share-groups": f"{_TOOLS}.consumer.group.ShareGroupCommand",
    "kafka-streams-groups": f"{_TOOLS}.streams.StreamsGroupCommand",
    "kafka-verifiable-share-consumer": f"{_TOOLS}.VerifiableShareConsumer",
}
_VERSION_3 = {
    "kafka-acls": "kafka.admin.AclCommand",
    "kafka-broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
    "kafka-console-producer": "kafka.tools.ConsoleProducer",
    "kafka-dump-log": "kafka.tools.DumpLogSegments",
    "kafka-mirror-maker": "kafka.tools.MirrorMaker",
    "zookeeper-security-migration": "kafka.admin.ZkSecurityMigrator",
    "zookeeper-server-start": "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    "zookeeper-shell": "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka",
}

# A server warms up and stays; a tool says a few words and ends, so it must start fast.
RUN_CLASS = """\
#!/bin/sh
# Runs a class of Kafka. Heeds what Kafka's own script heeds: JAVA_HOME, CLASSPATH, LOG_DIR and the KAFKA_*_OPTS.
set -eu
base=$(dirname "$(dirname "$(readlink -f "$0")")")
if [ $# -eq 0 ]; then
    echo "usage: $0 CLASS [OPTION...]" >&2
    exit 1
fi
java=java
[ -z "${JAVA_HOME:-}" ] || java=$JAVA_HOME/bin/java
: "${KAFKA_HEAP_OPTS:=-Xmx256M}"
: "${KAFKA_JVM_PERFORMANCE_OPTS:=-XX:+UseSerialGC -XX:TieredStopAtLevel=1}"
: "${KAFKA_LOG4J_OPTS:=@LOGGING@=$base/config/tools-@LOGGING_FILE@}"
# shellcheck disable=SC2086 # several options in one variable, as Kafka has it
exec "$java" $KAFKA_HEAP_OPTS $KAFKA_JVM_PERFORMANCE_OPTS -Djava.awt.headless=true \\
    ${LOG_DIR:+"-Dkafka.logs.dir=$LOG_DIR"} $KAFKA_LOG4J_OPTS ${KAFKA_OPTS:-} \\
    -cp "${CLASSPATH:+$CLASSPATH:}$base/libs/*" "$@"
"""
LAUNCH = """\
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/kafka-run-class.sh" {main} "$@"
"""
SERVER = """\
#!/bin/sh
: "${{KAFKA_HEAP_OPTS:=-Xms1G -Xmx1G}}"
: "${{KAFKA_JVM_PERFORMANCE_OPTS:=-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35}}"
export KAFKA_HEAP_OPTS KAFKA_JVM_PERFORMANCE_OPTS
exec "$(dirname "$(readlink -f "$0")")/kafka-run-class.sh" {main} "$@"
"""
LOG4J2 = """\
Configuration:
  status: ERROR
  Appenders:
    Console:
      name: STDERR
      target: SYSTEM_ERR
      PatternLayout:
        pattern: "[%d] %p %m (%c)%n"
  Loggers:
    Root:
      level: WARN
      AppenderRef:
        ref: STDERR
"""
RELOAD4J = """\
log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.stderr.Target=System.err
"""
FIRST_WITH_LOG4J2 = 4


def files(version: str) -> dict[str, str]:
    """Path in the distribution -> text; what lies in bin/ is executable."""
    new = int(version.split(".", maxsplit=1)[0]) >= FIRST_WITH_LOG4J2
    logging = ("-Dlog4j2.configurationFile", "log4j2.yaml") if new else ("-Dlog4j.configuration", "log4j.properties")
    prefix = "" if new else "file:"
    run_class = RUN_CLASS.replace("@LOGGING@=", f"{logging[0]}={prefix}").replace("@LOGGING_FILE@", logging[1])
    made = {"bin/kafka-run-class.sh": run_class, f"config/tools-{logging[1]}": LOG4J2 if new else RELOAD4J}
    for name, main in {**_COMMON, **(_VERSION_4 if new else _VERSION_3)}.items():
        text = SERVER if name.endswith("-server-start") else LAUNCH
        made[f"bin/{name}.sh"] = text.format(main=main)
    return made
