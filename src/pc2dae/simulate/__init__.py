"""Physical simulation of flights and campaigns with known truth."""

from pc2dae.simulate.campaign import (
    SimulatedFlight,
    fly_plan,
    read_flight_files,
    simulate_flight,
    write_campaign,
    write_flight_files,
)
from pc2dae.simulate.check import Check, compare
from pc2dae.simulate.grid import true_grid
from pc2dae.simulate.plan import PAPER_FLIGHTS, PAPER_SAMPLES, FlightPlan, plan_campaign

__all__ = [
    "PAPER_FLIGHTS",
    "PAPER_SAMPLES",
    "Check",
    "FlightPlan",
    "SimulatedFlight",
    "compare",
    "fly_plan",
    "plan_campaign",
    "read_flight_files",
    "simulate_flight",
    "true_grid",
    "write_campaign",
    "write_flight_files",
]
