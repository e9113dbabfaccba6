"""Stand-ins for an Oracle Database: none can be installed for the tests."""
