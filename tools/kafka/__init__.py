"""Kafka without a download site: its jars from a Maven repository, by a lock of exact coordinates and checksums, with
launch scripts of the usual names.
"""
