"""Corrections based on sensor physics and calibrations; edge imports the numpy part, so nothing is imported here."""
