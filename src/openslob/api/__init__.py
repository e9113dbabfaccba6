"""What notebooks and programs use: `openslob` has its public names, each imported on first use.

Whatever reads records must not wait for engines to be imported: only `functions` and `targets` import them.
"""
