"""The SQL of the package: one module for each table."""
