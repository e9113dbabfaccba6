"""What a managed server of any engine asks of the host: a home, a lock, an account, CPUs, huge pages."""
