"""The report as one HTML file that contains all it needs."""
