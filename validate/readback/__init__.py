"""The final read: every partition from its first to its last offset, after healing, by Spark."""

from validate.readback.read import ReadBack, jars, read

__all__ = ["ReadBack", "jars", "read"]
