#!/usr/bin/env bash
# What people write by hand: certs_script.sh keytool|openssl DIRECTORY BROKERS USERS
# keytool: every user's stores by keytool as in Kafka's documentation; openssl: keytool for the one truststore only.
# Both as fast as they get: a JVM tuned for a short life, all cores, nothing done twice.
set -euo pipefail
way=$1 out=$2 brokers=$3 users=$4
umask 077
mkdir -p "$out" && cd "$out"
openssl rand -hex 24 > password
export JAVA_TOOL_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 3650 \
    -subj /CN=authority -addext keyUsage=critical,keyCertSign,cRLSign 2> /dev/null
keytool -importcert -noprompt -alias ca -file ca.pem -keystore truststore.p12 -storepass:file password 2> /dev/null

leaf() { # request, certificate, extensions
    openssl x509 -req -in "$1" -CA ca.pem -CAkey ca.key -days 397 -out "$2" 2> /dev/null \
        -extfile <(printf 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n%s\n' "$3")
}
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }
broker() {
    mkdir "broker-$1"
    new_key "broker-$1/key.pem"
    openssl req -new -key "broker-$1/key.pem" -subj "/CN=broker-$1" -out "broker-$1/request.pem"
    leaf "broker-$1/request.pem" "broker-$1/cert.pem" \
        "extendedKeyUsage=serverAuth,clientAuth
subjectAltName=DNS:broker-$1,IP:198.18.0.$1"
}
user_keytool() {
    mkdir "user-$1" && cd "user-$1"
    store=(-keystore keystore.p12 -storepass:file ../password)
    keytool -genkeypair -alias own -keyalg EC -groupname secp256r1 -dname "CN=user-$1" -validity 397 "${store[@]}"
    keytool -certreq -alias own -file request.pem "${store[@]}"
    (cd .. && leaf "user-$1/request.pem" "user-$1/cert.pem" extendedKeyUsage=clientAuth)
    keytool -importcert -noprompt -alias ca -file ../ca.pem "${store[@]}"
    keytool -importcert -alias own -file cert.pem "${store[@]}"
    openssl pkcs12 -in keystore.p12 -passin file:../password -nodes -nocerts -out key.pem
    cp ../ca.pem ../truststore.p12 .
} 2> /dev/null
user_openssl() {
    mkdir "user-$1"
    new_key "user-$1/key.pem"
    openssl req -new -key "user-$1/key.pem" -subj "/CN=user-$1" -out "user-$1/request.pem"
    leaf "user-$1/request.pem" "user-$1/cert.pem" extendedKeyUsage=clientAuth
    openssl pkcs12 -export -in "user-$1/cert.pem" -inkey "user-$1/key.pem" -certfile ca.pem -name own \
        -passout file:password -out "user-$1/keystore.p12"
    cp ca.pem truststore.p12 "user-$1"
}
export -f leaf new_key broker user_keytool user_openssl
seq "$brokers" | xargs -P "$(nproc)" -I{} bash -euc 'broker {}'
seq "$users" | xargs -P "$(nproc)" -I{} bash -euc "user_$way {}"
