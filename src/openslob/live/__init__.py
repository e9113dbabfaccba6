"""Shows records while they grow, or replayed: the screen (Textual), the page (Starlette)."""
