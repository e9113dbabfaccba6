"""Several runs that belong together: planned, ordered, carried out."""
