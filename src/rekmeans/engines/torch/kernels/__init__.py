"""Triton kernels: the assignment and the update step of a certified pass, and small fits."""
