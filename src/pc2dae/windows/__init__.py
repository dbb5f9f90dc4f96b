"""Flights ↔ arrays: scaling, slicing, corruption."""
