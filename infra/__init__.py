"""Phase 1: the Pulumi program that makes a stack's hosts."""
