"""How a sensor follows the air: its response time, and series brought to a common one."""
