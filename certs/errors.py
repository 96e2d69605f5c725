"""The tree of errors of this room. Its leaves differ in what the caller should look at next.

KastellanError
├── UsageError ── InvalidNameError   a name, an address or a word of the call
├── UnreadableError                  a file that cannot be read or parsed
└── CertsError
    ├── AuthorityError               the authority's files, its key, its dates
    ├── RequestError                 a signing request made on a host
    ├── StoreError                   a bundle or PKCS#12 store on disk
    └── BusyError                    another run holds the lock
"""

from __future__ import annotations

from common.errors import KastellanError, UnreadableError, UsageError

__all__ = [
    "AuthorityError",
    "BusyError",
    "CertsError",
    "InvalidNameError",
    "KastellanError",
    "RequestError",
    "StoreError",
    "UnreadableError",
    "UsageError",
]


class InvalidNameError(UsageError):
    """A name that no certificate should carry."""


class CertsError(KastellanError):
    """Something about certificates, keys or their files."""


class AuthorityError(CertsError):
    """The authority cannot or must not sign."""


class RequestError(CertsError):
    """A signing request must not be signed."""


class StoreError(CertsError):
    """A bundle or a PKCS#12 store cannot be made or read."""


class BusyError(CertsError):
    """Another run works on the same authority."""
