"""Arrays derived from a store at one generation: made, kept up to date, written to a sidecar and opened from it."""
