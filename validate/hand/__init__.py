"""Single clients by hand: each a process with a journal, started from the command line and watched on the terminal."""

FILE = "hand.json"  # makes a folder a ledger that was written by hand
