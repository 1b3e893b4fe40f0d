"""The path of a search: tiers asked together, candidates merged, scored, cut and read."""
