"""Save fitted estimators: model files that can be loaded, and ONNX graphs for other runtimes."""
