"""Pure functions from measurements and records to figures and verdicts: no I/O, no plotting."""
