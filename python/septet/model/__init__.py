"""Values of the library: entries, vectors, results, explanations and pages."""
