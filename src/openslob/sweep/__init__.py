"""Several runs that belong together: how a sweep is created, planned, and executed."""
