"""A record while it grows, or replayed: read from its folder alone, for the screen and the page."""
