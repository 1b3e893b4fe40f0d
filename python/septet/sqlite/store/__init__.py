"""Storage: one SQLite file is the source of truth; arrays are derived and disposable."""
