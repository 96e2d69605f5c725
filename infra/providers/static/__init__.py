"""Hosts that exist already: Pulumi records them, nothing is made, changed or removed."""
