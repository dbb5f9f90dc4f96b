"""Network architectures (torch)."""
