"""An outage as the subject of a test: who takes over, when clients are served again, and what became of their work."""
