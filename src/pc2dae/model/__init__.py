"""Networks, and nothing but networks (torch)."""
