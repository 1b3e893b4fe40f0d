"""The backend of vaults on PostgreSQL servers and Citus clusters: store, tables, tier and vault."""
