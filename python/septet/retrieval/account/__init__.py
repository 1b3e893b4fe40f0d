"""The account of a retrieval: hits, envelope and explanations."""
