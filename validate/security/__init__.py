"""The security proof: what must be refused is refused, shown on the live cluster: one function a check.

A check rests on an answer from the wire or from a host's kernel, never on a file that was written for it.
"""
