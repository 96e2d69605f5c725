"""Pulumi's command line: the one on PATH if it will do, else built from its Go modules."""
