"""The version of openslob: its single source, which pyproject.toml reads too."""

__version__ = "0.1.0"
