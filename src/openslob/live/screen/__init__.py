"""The live view of a record in a terminal."""
