"""What runs on the drone: numpy and onnxruntime alone."""
