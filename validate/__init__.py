"""Phase 3: the proof. Workloads keep a ledger, the judge reads it and says what happened to every record."""
