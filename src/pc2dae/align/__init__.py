"""Alignment of the streams of many instruments to one clock and one grid."""
