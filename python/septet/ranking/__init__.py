"""Pure ranking: candidates as columns, signals, fusion, adaptive weights, cuts. Nothing here touches a file."""
