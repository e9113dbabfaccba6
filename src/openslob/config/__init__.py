"""How a workload is asked for: flags, environment and files become one `Workload`, each value with its origin."""
