"""Workloads: they write, read and keep a ledger. They judge nothing and know no cluster, no scenario and no fault."""
