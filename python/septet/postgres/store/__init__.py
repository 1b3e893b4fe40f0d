"""A store on a PostgreSQL server: the same tables as SQLite has, shared by many machines."""
