"""What a retrieval returns: hits, the account of how they were found, and why others were not."""
