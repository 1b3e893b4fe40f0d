"""Storage: one SQLite file is the truth; arrays are derived from it and may be thrown away."""
