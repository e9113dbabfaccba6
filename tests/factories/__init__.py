"""Made-up records and measurements, and real servers, for tests."""
