"""The command line: `python -m certs`. Words and options here, the work in verbs.py."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from certs import verbs
from certs.errors import KastellanError, UsageError
from certs.keys import KeyType
from certs.lifetimes import CLIENT_LIFETIME, SERVER_LIFETIME
from certs.names import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

DAYS_MAX = SERVER_LIFETIME.days
EPILOG = """\
Exit codes: 0 done or nothing to object; 1 refused, or check found something; 2 a file cannot be read;
64 the call is wrong. Secrets come from files or standard input (-), never from arguments.
"""


class Parser(argparse.ArgumentParser):
    """Errors of the call in the shape of the house, with its exit code."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", resolution=f"See {self.prog} --help.")


def parser() -> Parser:
    top = Parser(prog="python -m certs", description=(verbs.__doc__ or "").strip(), epilog=EPILOG)
    top.formatter_class = argparse.RawDescriptionHelpFormatter
    sub = top.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=Parser)
    _init(sub.add_parser("init", help="make the authority, or take over one of your own; twice changes nothing"))
    _sign(sub.add_parser("sign", help="sign requests made on hosts, if what is there is not good any more"))
    _issue(sub.add_parser("issue", help="make key and certificate of users, where they are missing or not good"))
    _renew(sub.add_parser("renew", help="renew the users' bundles that are due, or with --force all"))
    _show(sub.add_parser("show", help="read back certificates, requests and PKCS#12 stores"))
    _check(sub.add_parser("check", help="judge a certificate as the other side of a handshake would"))
    return top


def _authority(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--pki", type=Path, required=True, metavar="DIR", help="directory of the authority")
    verb.add_argument("--passphrase-file", metavar="FILE", help="passphrase of the authority's key (-: standard input)")
    verb.add_argument("--check", action="store_true", help="say what would be done, change nothing")
    _json(verb)


def _json(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--json", action="store_true", help="print one JSON object, errors too")


def _leaf(verb: argparse.ArgumentParser) -> None:
    default = f"{SERVER_LIFETIME.days} for servers, {CLIENT_LIFETIME.days} for clients"
    verb.add_argument("--days", type=_days, metavar="N", help=f"lifetime, 1 to {DAYS_MAX} (default: {default})")
    verb.add_argument("--force", action="store_true", help="renew even what is good, e.g. after a leak")


def _days(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) <= DAYS_MAX:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no lifetime: use 1 to {DAYS_MAX} days, e.g. 90")


def _init(verb: argparse.ArgumentParser) -> None:
    _authority(verb)
    verb.add_argument("--name", help="name of a new authority (default: Kastellan authority)")
    _key_type(verb, "key of a new authority (default: p256)")
    verb.add_argument(
        "--ca-cert",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="your own authority: its certificate and those above it, the root last; may be given several times",
    )
    verb.add_argument("--ca-key", type=Path, metavar="FILE", help="its key")


def _key_type(verb: argparse.ArgumentParser, words: str) -> None:
    verb.add_argument(
        "--key-type", type=KeyType, choices=list(KeyType), metavar="TYPE", help=f"{words}; {_key_types()}"
    )


def _key_types() -> str:
    return ", ".join(KeyType)


def _sign(verb: argparse.ArgumentParser) -> None:
    _authority(verb)
    _leaf(verb)
    verb.add_argument("--batch", metavar="FILE", help="many at once, as JSON (-: standard input)")
    verb.add_argument("--name", help="host name, or user name with --kind client")
    verb.add_argument("--kind", choices=list(Kind), default=Kind.SERVER, help="default: server")
    verb.add_argument("--alias", action="append", default=[], metavar="HOST", help="further host name")
    verb.add_argument("--address", action="append", default=[], metavar="IP", help="address of the host")
    verb.add_argument("--request", metavar="FILE", help="the signing request in PEM (-: standard input)")
    verb.add_argument("--out", type=Path, metavar="FILE", help="the certificate: looked at first, then written")


def _issue(verb: argparse.ArgumentParser) -> None:
    _authority(verb)
    _leaf(verb)
    _bundles(verb)
    verb.add_argument("--batch", metavar="FILE", help='users as JSON, {"users": [...]} (-: standard input)')
    verb.add_argument("users", nargs="*", metavar="USER")


def _renew(verb: argparse.ArgumentParser) -> None:
    _authority(verb)
    _leaf(verb)
    _bundles(verb)
    verb.add_argument("users", nargs="*", metavar="USER", help="default: all that have a bundle")


def _bundles(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--clients", type=Path, required=True, metavar="DIR", help="holds one directory per user")
    _key_type(verb, "key of new bundles (default: p256)")
    verb.add_argument(
        "--password-file", metavar="FILE", help="also make PKCS#12 stores with this password (-: standard input)"
    )


def _show(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("files", nargs="+", type=Path, metavar="FILE")
    verb.add_argument("--password-file", metavar="FILE", help="password of a PKCS#12 store (-: standard input)")
    _json(verb)


def _check(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("certificate", type=Path, metavar="FILE", help="leaf first, then what it brings along")
    verb.add_argument("--key", type=Path, metavar="FILE", help="must belong to the leaf")
    verb.add_argument("--ca", type=Path, metavar="FILE", help="what the other side trusts")
    verb.add_argument("--kind", choices=list(Kind), help="purposes that it must have")
    verb.add_argument("--host", action="append", default=[], metavar="NAME", help="host name it must be for")
    verb.add_argument("--address", action="append", default=[], metavar="IP", help="address it must be for")
    verb.add_argument("--user", help="user it must be for")
    verb.add_argument("--days", type=int, default=0, metavar="N", help="days that must be left")
    verb.add_argument("--passphrase-file", metavar="FILE", help="passphrase of --key (-: standard input)")
    _json(verb)


def main(arguments: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        call = parser().parse_args(words)
        answer = verbs.VERBS[call.verb](call)
    except KastellanError as exc:
        _print_error(exc, as_json="--json" in words)
        return exc.exit_code
    print(json.dumps(answer.data) if call.json else "\n".join(answer.lines))
    return answer.exit_code


def _print_error(exc: KastellanError, *, as_json: bool) -> None:
    if as_json:
        error = {"brief": exc.brief, "details": exc.details, "resolution": exc.resolution}
        print(json.dumps({"changed": False, "error": error}))
    print(exc, file=sys.stderr)
