"""Runs a workload: check, connect, barrier, warm up, slices, drain."""
