import pytest

from pc2dae.simulate import SimulatedFlight, simulate_flight


@pytest.fixture(scope="session")
def flown() -> SimulatedFlight:
    return simulate_flight(5, 10)


@pytest.fixture(scope="session")
def perfect() -> SimulatedFlight:
    return simulate_flight(5, 10, perfect_sheets=True)
