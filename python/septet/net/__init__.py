"""Network: HTTP calls within bounds of time and size, their faults and retries, and API keys."""
