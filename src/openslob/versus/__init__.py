"""Comparison of storage alone with databases on the same file system, and the storage ceiling of a server."""
