"""Engines: one folder each, chosen by the target's scheme. The only place that knows their names."""
