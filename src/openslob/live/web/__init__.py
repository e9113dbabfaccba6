"""The live view of a record as a page, and the server of that page."""
