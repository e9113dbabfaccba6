"""Records of runs, sweeps and storage measurements: models, folders, old versions, and raw CSV files."""
