"""Pure ranking: candidates as columns, signals, fusion, adaptive weights, cuts. No I/O."""
