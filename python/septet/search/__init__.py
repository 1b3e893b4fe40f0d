"""Search: candidates from the tiers in parallel, merge, rank and cut the candidates, read the results."""
