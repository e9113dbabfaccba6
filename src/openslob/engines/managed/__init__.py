"""What managed servers of all engines share: life cycle, state, locks, account, CPUs, huge pages."""
