"""The backend of vaults in SQLite files: store, tables, the arrays derived from them, listings and the tier."""
