"""A server under any load: what it does second by second, and the record of a load that is not ours."""
