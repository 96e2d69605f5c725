"""Where downloads and builds live, shared by all checkouts of a user."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """${XDG_CACHE_HOME:-~/.cache}/kastellan; a relative XDG_CACHE_HOME does not count, as its specification says."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "kastellan"
