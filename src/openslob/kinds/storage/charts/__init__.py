"""The pictures of raw measurements."""
