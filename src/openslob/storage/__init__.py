"""Measurements of storage without a database, with fio as the I/O generator."""
