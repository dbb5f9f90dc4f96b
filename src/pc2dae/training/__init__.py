"""Training: objectives, training loop, checkpoints, export (torch)."""
