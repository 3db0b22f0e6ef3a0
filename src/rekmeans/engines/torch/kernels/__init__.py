"""Triton kernels of a certified pass: assignment, doubtful rows, exact sums, centroids, groups,
small fits.
"""
