"""The compiled core of the native engine."""
