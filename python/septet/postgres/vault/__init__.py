"""A vault on PostgreSQL, by subject."""
