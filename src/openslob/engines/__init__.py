"""Engines: one folder each, found by entry points; only their folders name a product."""
