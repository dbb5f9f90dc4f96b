"""The flight dataset, and its file formats."""

from pc2dae.flight.conform import conform
from pc2dae.flight.store import read_flight, write_flight

__all__ = ["conform", "read_flight", "write_flight"]
