"""The realism table: storage alone and databases on it, measured in turn on the same file system."""
