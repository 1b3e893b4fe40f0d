"""Arrays derived from a store at one generation: built, kept up to date, saved to a sidecar and opened from it."""
