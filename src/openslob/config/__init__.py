"""The configuration: flags, environment and files become one `Workload`, each value with its origin."""
