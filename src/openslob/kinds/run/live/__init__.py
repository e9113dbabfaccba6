"""A run while it grows, or replayed: its folder, its tables up to a moment, and what viewers get of it."""
