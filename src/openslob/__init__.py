"""openslob: what a database platform can really do, measured by the SLOB method."""

__version__ = "0.1.0"
