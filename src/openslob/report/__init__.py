"""Reports on records: text for terminals, pictures, and HTML pages that need no network."""
