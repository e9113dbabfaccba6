"""Orion's workloads, options and result files, with fio as the I/O generator."""
