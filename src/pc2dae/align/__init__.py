"""Streams of many instruments put on one clock and one grid."""
