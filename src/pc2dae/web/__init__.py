"""The ground station: a page to drop a flight on, look, compare, download, and watch live; `pc2dae serve` opens it."""
