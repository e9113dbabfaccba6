"""Curves over sessions: points, series, knees and ceilings."""
