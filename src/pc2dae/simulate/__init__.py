"""Physical simulation of flights and campaigns with known truth."""

from pc2dae.simulate.campaign import (
    SimulatedFlight,
    fly_plan,
    read_flight_files,
    simulate_flight,
    write_campaign,
    write_flight_files,
)
from pc2dae.simulate.colocation import colocate, simulate_colocation
from pc2dae.simulate.grid import true_grid
from pc2dae.simulate.plan import PAPER_FLIGHTS, PAPER_SAMPLES, FlightPlan, plan_campaign
from pc2dae.simulate.span_gas import breathe_span_gas, simulate_span_gas

__all__ = [
    "PAPER_FLIGHTS",
    "PAPER_SAMPLES",
    "FlightPlan",
    "SimulatedFlight",
    "breathe_span_gas",
    "colocate",
    "fly_plan",
    "plan_campaign",
    "read_flight_files",
    "simulate_colocation",
    "simulate_flight",
    "simulate_span_gas",
    "true_grid",
    "write_campaign",
    "write_flight_files",
]
