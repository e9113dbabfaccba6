"""Records as text for people."""
