"""Readers and writers of instrument files."""

from pc2dae.logs.sniff import Ignored, LogBook, declared, read_logs

__all__ = ["Ignored", "LogBook", "declared", "read_logs"]
