"""Profiling notes for MkDocs: drop a folder of sweep runs beside the docs, build, read where the time went."""

__version__ = "0.1.0"
