"""Training: objectives, the one loop, checkpoints, export (torch)."""
