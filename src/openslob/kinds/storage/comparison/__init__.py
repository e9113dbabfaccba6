"""Databases compared with their storage alone."""
