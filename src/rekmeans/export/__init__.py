"""Fitted estimators in files: model files that load again, and ONNX graphs for other runtimes."""
