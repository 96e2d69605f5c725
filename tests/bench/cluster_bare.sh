#!/bin/sh
# What the roles do, as a bare script does it, as fast as it can: combined nodes with TLS, SCRAM and ACLs.
#   cluster_bare.sh install|roll|clean STATE TAR WORK ADDRESS...
# STATE holds ssh/id_ed25519 and known_hosts; hosts have Java, openssl and nothing of Kafka. With KEEPERS, addresses of
# further hosts with blanks between, those become ZooKeepers and the others brokers that use them.
set -eu
verb=$1 state=$2 tar=$3 work=$4
shift 4
keepers=${KEEPERS:-}
dist=/opt/bare
reach() { # ADDRESS COMMAND
    ssh -n -i "$state/ssh/id_ed25519" -o "UserKnownHostsFile=$state/known_hosts" -o ControlMaster=auto \
        -o "ControlPath=$work/%h" -o ControlPersist=60 -o LogLevel=ERROR "ops@$1" "sudo sh -c '$2'"
}
push() { # ADDRESS FILE...
    to=$1
    shift
    scp -q -i "$state/ssh/id_ed25519" -o "UserKnownHostsFile=$state/known_hosts" -o "ControlPath=$work/%h" "$@" "ops@$to:/tmp/"
}

authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=bare \
        -keyout "$work/ca.key" -out "$work/ca.pem" 2> /dev/null
}

leaf() { # NAME ADDRESS
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$work/$1.key" 2> /dev/null |
        openssl x509 -req -CA "$work/ca.pem" -CAkey "$work/ca.key" -days 30 -extfile "$work/$1.ext" \
            -out "$work/$1.crt" 2> /dev/null
    cat "$work/$1.key" "$work/$1.crt" > "$work/$1.pem"
}

quorum() { # NUMBER: lines of a node that keeps the metadata with the others
    cat <<CONF
process.roles=broker,controller
node.id=$1
controller.quorum.bootstrap.servers=$servers
controller.listener.names=CONTROLLER
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
CONF
}

login_to_keepers() { # all brokers have one certificate there, since a node belongs to who made it
    cat <<CONF
zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty
zookeeper.ssl.client.enable=true
zookeeper.ssl.keystore.type=PEM
zookeeper.ssl.keystore.location=$dist/etc/kafka.pem
zookeeper.ssl.truststore.type=PEM
zookeeper.ssl.truststore.location=$dist/etc/ca.pem
CONF
}

beside_keepers() { # NUMBER: the same of a broker that has ZooKeepers for that
    cat <<CONF
broker.id=$1
zookeeper.connect=$servers
zookeeper.set.acl=true
authorizer.class.name=kafka.security.authorizer.AclAuthorizer
CONF
    login_to_keepers
}

properties() { # NUMBER NAME ADDRESS
    controller=''
    if [ -z "$keepers" ]; then
        controller=yes
        quorum "$1"
    else
        beside_keepers "$1"
    fi > "$work/$2.properties"
    cat >> "$work/$2.properties" <<CONF
listeners=CLIENT://:9092,MTLS://:9094,BROKER://:9091${controller:+,CONTROLLER://:9093}
advertised.listeners=CLIENT://$3:9092,MTLS://$3:9094,BROKER://$3:9091${controller:+,CONTROLLER://$3:9093}
listener.security.protocol.map=CLIENT:SASL_SSL,MTLS:SSL,BROKER:SSL${controller:+,CONTROLLER:SSL}
inter.broker.listener.name=BROKER
ssl.keystore.type=PEM
ssl.keystore.location=$dist/etc/$2.pem
ssl.truststore.type=PEM
ssl.truststore.location=$dist/etc/ca.pem
ssl.client.auth=required
listener.name.client.ssl.client.auth=none
ssl.principal.mapping.rules=RULE:^CN=(.*)\$/\$1/
listener.name.client.sasl.enabled.mechanisms=SCRAM-SHA-512,SCRAM-SHA-256
listener.name.client.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.client.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
super.users=User:admin;User:node-1;User:node-2;User:node-3;User:node-4
log.dirs=/var/lib/kafka/bare
CONF
}

host() { # NAME ADDRESS DATA MOVES STARTS FILE...: all that one host needs, side by side with the others
    name=$1 address=$2 data=$3 moves=$4 starts=$5
    shift 5
    echo "subjectAltName=IP:$address,DNS:$name" > "$work/$name.ext"
    leaf "$name"
    reach "$address" true
    push "$address" "$tar" "$work/$name.pem" "$work/ca.pem" "$@"
    reach "$address" "useradd --system --no-create-home bare; mkdir -p $dist/etc $data /var/log/bare
        tar -xf /tmp/$(basename "$tar") -C $dist --strip-components=1 --no-same-owner
        mv /tmp/ca.pem $dist/etc; $moves
        chown -R bare $dist/etc $data /var/log/bare
        systemctl daemon-reload; $starts" > /dev/null
}

node() { # NUMBER ADDRESS
    properties "$1" "node-$1" "$2"
    # shellcheck disable=SC2086 # none, or several files
    host "node-$1" "$2" /var/lib/kafka/bare "mv /tmp/node-$1.properties $dist/etc/server.properties
        mv /tmp/node-$1.pem /tmp/admin.properties $dist/etc; mv /tmp/bare.service /etc/systemd/system; $moved" "$founded" \
        "$work/node-$1.properties" "$work/admin.properties" "$work/bare.service" $more
}

keeper() { # NUMBER ADDRESS: one ZooKeeper
    host "keeper-$1" "$2" /var/lib/zookeeper/bare "mv /tmp/keeper-$1.pem $dist/etc/keeper.pem
        mv /tmp/kafka.pem /tmp/zoo.cfg $dist/etc; echo $1 > /var/lib/zookeeper/bare/myid
        mv /tmp/keeper.service /etc/systemd/system/bare.service" "systemctl start bare" \
        "$work/kafka.pem" "$work/zoo.cfg" "$work/keeper.service"
}

unit() { # HEAP START FILE [LINE]
    cat <<CONF
[Service]
User=bare
Environment="KAFKA_HEAP_OPTS=-Xms$1 -Xmx$1" LOG_DIR=/var/log/bare
ExecStart=$dist/bin/$2-server-start.sh $dist/etc/$3
${4:-}
SuccessExitStatus=143
LimitNOFILE=100000
CONF
}

ensemble() { # zoo.cfg, the unit, and how brokers log in
    cat > "$work/zoo.cfg" <<CONF
tickTime=2000
initLimit=10
syncLimit=5
dataDir=/var/lib/zookeeper/bare
secureClientPort=2182
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider
admin.enableServer=false
4lw.commands.whitelist=srvr
sslQuorum=true
CONF
    for prefix in ssl ssl.quorum; do
        cat >> "$work/zoo.cfg" <<CONF
$prefix.clientAuth=need
$prefix.keyStore.type=PEM
$prefix.keyStore.location=$dist/etc/keeper.pem
$prefix.trustStore.type=PEM
$prefix.trustStore.location=$dist/etc/ca.pem
CONF
    done
    number=0
    for address in $keepers; do
        number=$((number + 1))
        servers=$servers${servers:+,}$address:2182
        echo "server.$number=$address:2888:3888" >> "$work/zoo.cfg"
    done
    unit 128m zookeeper zoo.cfg > "$work/keeper.service"
    echo "subjectAltName=DNS:kafka" > "$work/kafka.ext"
    leaf kafka
    login_to_keepers > "$work/keepers.properties"
}

install() {
    mkdir -p "$work"
    cluster=MkU3OEVBNTcwNTJENDM2Qg
    scram512='"SCRAM-SHA-512=[name=admin,password=bare]"' scram256='"SCRAM-SHA-256=[name=admin,password=bare]"'
    servers='' voters='' number=0
    for address in "$@"; do
        number=$((number + 1))
        servers=$servers${servers:+,}$address:9093
        voters=$voters${voters:+,}$number@$address:9093:AAAAAAAAAAAAAAAAAAAA${number}A
    done
    authority
    moved='' more='' founded="cd /; setpriv --reuid bare --regid bare --clear-groups $dist/bin/kafka-storage.sh format -t $cluster \
            -c $dist/etc/server.properties --initial-controllers $voters --add-scram $scram512 --add-scram $scram256
        systemctl start bare"
    if [ -n "$keepers" ]; then
        servers=''
        ensemble
        # Administrator first, brokers afterwards.
        founded='' more="$work/kafka.pem $work/keepers.properties" moved="mv /tmp/kafka.pem /tmp/keepers.properties $dist/etc;"
    fi
    cat > "$work/admin.properties" <<CONF
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="admin" password="bare";
ssl.truststore.type=PEM
ssl.truststore.location=$dist/etc/ca.pem
CONF
    unit 512m kafka server.properties TimeoutStopSec=180 > "$work/bare.service"
    number=0
    for address in "$@"; do
        number=$((number + 1))
        node "$number" "$address" &
    done
    number=0
    for address in $keepers; do
        number=$((number + 1))
        keeper "$number" "$address" &
    done
    wait
    if [ -n "$keepers" ]; then
        reach "$1" "$dist/bin/kafka-configs.sh --zookeeper $servers --zk-tls-config-file $dist/etc/keepers.properties \
            --alter --entity-type users --entity-name admin \
            --add-config SCRAM-SHA-512=[password=bare],SCRAM-SHA-256=[password=bare]" > /dev/null
        for address in "$@"; do
            reach "$address" "systemctl start bare" &
        done
        wait
    fi
    await "$@"
    login="--bootstrap-server $1:9092 --command-config $dist/etc/admin.properties"
    reach "$1" "$dist/bin/kafka-topics.sh $login --create --topic Topic_One --partitions 1 --replication-factor 2" > /dev/null &
    reach "$2" "$dist/bin/kafka-topics.sh $login --create --topic Topic_Three --partitions 3 --replication-factor 2" > /dev/null &
    reach "$3" "$dist/bin/kafka-topics.sh $login --create --topic Topic_Four --partitions 4 --replication-factor 3" > /dev/null &
    for mechanism in SCRAM-SHA-512 SCRAM-SHA-256; do # both at once are refused: one request alters a user once
        reach "${4:-$1}" "$dist/bin/kafka-configs.sh $login --alter --entity-type users --entity-name usercc \
            --add-config $mechanism=[password=bare]" > /dev/null &
    done
    wait
    reach "$1" "$dist/bin/kafka-acls.sh $login --add --allow-principal User:usercc --operation All --topic Topic_ \
        --resource-pattern-type prefixed --group \"*\" --force" > /dev/null &
    reach "$2" "$dist/bin/kafka-configs.sh $login --alter --entity-type brokers --entity-default \
        --add-config min.insync.replicas=2" > /dev/null &
    wait
}

await() { # until all have registered
    tries=0
    until [ "$(reach "$1" "$dist/bin/kafka-broker-api-versions.sh --bootstrap-server $1:9092 \
        --command-config $dist/etc/admin.properties 2> /dev/null" | grep -c ' -> (')" = "$#" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 60 ] || exit 1
    done
}

serves() { # ADDRESS: whether a ZooKeeper leads or follows
    reach "$1" "printf srvr | timeout 5 openssl s_client -quiet -connect $1:2182 -cert $dist/etc/kafka.pem \
        -key $dist/etc/kafka.pem -CAfile $dist/etc/ca.pem 2> /dev/null | grep -q ^Mode"
}

roll() { # one at a time, ZooKeepers until they serve, brokers until no partition is short of a replica
    for address in $keepers; do
        reach "$address" 'systemctl restart bare'
        until serves "$address"; do :; done
    done
    for address in "$@"; do
        reach "$address" 'systemctl restart bare'
        await "$@"
        until [ -z "$(reach "$1" "$dist/bin/kafka-topics.sh --bootstrap-server $1:9092 \
            --command-config $dist/etc/admin.properties --describe --under-replicated-partitions")" ]; do :; done
    done
}

clean() {
    for address in "$@" $keepers; do
        reach "$address" "systemctl kill -s KILL bare; systemctl stop bare; rm -rf $dist /var/lib/kafka/bare /var/log/bare
            rm -rf /var/lib/zookeeper/bare
            rm -f /etc/systemd/system/bare.service /tmp/*.tar; systemctl daemon-reload; userdel bare" > /dev/null 2>&1 || true &
    done
    wait
    rm -rf "$work"
}

"$verb" "$@"
