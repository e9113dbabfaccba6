"""The lab: what each setting of a server costs, by interleaved pairs of runs with and without it."""
