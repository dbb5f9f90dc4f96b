"""Campaigns with known truth, from the physics of air, smoke and sensors."""

from pc2dae.simulate.campaign import SimulatedFlight, fly_plan, simulate_flight, write_campaign, write_flight_files
from pc2dae.simulate.plan import PAPER_FLIGHTS, PAPER_SAMPLES, FlightPlan, plan_campaign

__all__ = [
    "PAPER_FLIGHTS",
    "PAPER_SAMPLES",
    "FlightPlan",
    "SimulatedFlight",
    "fly_plan",
    "plan_campaign",
    "simulate_flight",
    "write_campaign",
    "write_flight_files",
]
