"""HTTP calls to embedding services: requests, retries, keys, deadlines."""
