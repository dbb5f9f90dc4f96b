"""Sensor response: estimation of response times, and matching of series to a common one."""
