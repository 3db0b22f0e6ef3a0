"""Shared code of the tests: oracles, estimators in every form, random fits, assertions.

Stored results are in tests/data.
"""
