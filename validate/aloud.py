"""Words for the terminal that hinder nobody: it may have been closed, and a reader such as `| head` be gone."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def aloud(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError:
        # For the rest of this process: what lies in the old one's buffer would fail again when Python ends.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    except RuntimeError:
        pass  # a second signal came while the first one's handler was printing, and Python refuses to begin again there
