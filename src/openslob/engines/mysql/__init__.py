"""MariaDB and MySQL; they differ by capability."""
