"""Save fitted estimators to model files, and export them to ONNX graphs for other runtimes."""
