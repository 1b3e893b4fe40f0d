"""The tier over a vault on PostgreSQL: the server chooses candidates, our kernels score them."""
