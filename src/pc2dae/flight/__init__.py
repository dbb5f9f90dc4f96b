"""The one data structure."""
