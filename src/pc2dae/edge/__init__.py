"""Code that runs on the drone; requires only numpy and onnxruntime."""
