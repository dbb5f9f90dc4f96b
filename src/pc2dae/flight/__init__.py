"""The one data structure."""

from pc2dae.flight.store import read_flight, write_flight

__all__ = ["read_flight", "write_flight"]
