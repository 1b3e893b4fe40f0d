"""The path of a search: tiers searched together, candidates merged, scored, cut and read."""
