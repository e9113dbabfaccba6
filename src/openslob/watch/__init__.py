"""A server under any load: what it does second by second."""
