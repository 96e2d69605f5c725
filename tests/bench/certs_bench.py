"""Certificates for 4 brokers and 20 users: this authority against scripts with keytool and openssl.

Run: python tests/bench/certs_bench.py [--rounds N]. Prints JSON; exit code 1 if the goal is missed.
Both sides begin with nothing, make the brokers' keys with openssl as hosts do, and end with the same files.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("certs_script.sh")
BROKERS, USERS = 4, 20
GOAL = 0.05
sys.path.insert(0, str(REPOSITORY))  # run as a file: its own folder is first on the path, the rooms are not

from tests.bench.harness import Ratio  # noqa: E402


def run(*words: object, given: str = "") -> str:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        list(map(str, words)), check=True, capture_output=True, text=True, input=given, env=environment
    )
    return done.stdout


def by_us(out: Path) -> None:
    out.mkdir()
    certs = (sys.executable, "-m", "certs")
    (out / "password").write_text(run("openssl", "rand", "-hex", 24))
    run(*certs, "init", "--pki", out / "pki")
    requests = []
    for number in range(1, BROKERS + 1):
        key = out / f"broker-{number}.key"
        run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
        request = run("openssl", "req", "-new", "-key", key, "-subj", "/CN=ignored")
        requests.append({"name": f"broker-{number}", "addresses": [f"198.18.0.{number}"], "request": request})
    batch = json.dumps({"requests": requests})
    signed = json.loads(run(*certs, "sign", "--pki", out / "pki", "--batch", "-", "--json", given=batch))
    for item in signed["items"]:
        directory = out / item["name"]
        directory.mkdir()
        (out / f"{item['name']}.key").rename(directory / "key.pem")
        (directory / "cert.pem").write_text(item["certificate"])
    users = json.dumps({"users": [f"user-{number}" for number in range(1, USERS + 1)]})
    words = ("issue", "--pki", out / "pki", "--clients", out, "--batch", "-", "--password-file", out / "password")
    run(*certs, *words, given=users)
    (out / "ca.pem").write_bytes((out / "pki" / "ca.pem").read_bytes())


def by_script(way: str, out: Path) -> None:
    run("bash", SCRIPT, way, out, BROKERS, USERS)


def judge(out: Path) -> None:
    """Speed counts only for results that are whole and right."""
    for kind, count, purpose in (("broker", BROKERS, "sslserver"), ("user", USERS, "sslclient")):
        for number in range(1, count + 1):
            directory = out / f"{kind}-{number}"
            run("openssl", "verify", "-CAfile", out / "ca.pem", "-purpose", purpose, directory / "cert.pem")
            wanted = {"key.pem", "cert.pem"}
            if kind == "user":
                wanted |= {"ca.pem", "keystore.p12", "truststore.p12"}
            missing = wanted - {path.name for path in directory.iterdir()}
            if missing:
                raise SystemExit(f"{directory} lacks {sorted(missing)}")


def measure(rounds: int) -> dict[str, list[float]]:
    """Interleaved, so that whatever else the machine does meets all alike."""
    took: dict[str, list[float]] = {"certs": [], "keytool": [], "openssl": []}
    for _ in range(rounds):
        for way, times in took.items():
            with tempfile.TemporaryDirectory() as scratch:
                out = Path(scratch) / "out"
                begin_s = time.monotonic()
                by_us(out) if way == "certs" else by_script(way, out)
                times.append(round(time.monotonic() - begin_s, 3))
                judge(out)
    return took


def ratios(rounds: int = 3) -> list[Ratio]:
    """For the benchmark of a cluster, where this is one of the promised speeds."""
    took = measure(rounds)
    ratio = statistics.median(took["certs"]) / statistics.median(took["keytool"])
    name = f"certificates for {BROKERS} brokers and {USERS} users / keytool and openssl script"
    return [Ratio(name, took["certs"], took["keytool"], ratio, GOAL)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    took = measure(parser.parse_args().rounds)
    median = {way: statistics.median(times) for way, times in took.items()}
    ratio = median["certs"] / median["keytool"]
    report = {
        "name": "certs",
        "what": f"authority, {BROKERS} brokers, {USERS} users with PEM and PKCS#12",
        "seconds": took,
        "median_s": median,
        "ratio": round(ratio, 4),
        "goal": GOAL,
        "good": ratio <= GOAL,
        "ratio_to_openssl_with_one_keytool_call": round(median["certs"] / median["openssl"], 3),
    }
    print(json.dumps(report, indent=2))  # printing the figures is what it is for
    return 0 if report["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
