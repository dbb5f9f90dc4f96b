"""Shipped pretrained models: ONNX and card, made by `make weights`."""
