"""Debian's OpenStack on the loopback of a network namespace: real APIs, databases and messages, pretended machines."""
