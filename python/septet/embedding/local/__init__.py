"""Local sentence models, which run in this process."""
