"""Runs of hours and days: how long a level lasts, and the same short run again and again."""
