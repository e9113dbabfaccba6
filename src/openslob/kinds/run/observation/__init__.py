"""An observation: the record of a load that is not ours. Its document is a run's, and so is its kind."""
