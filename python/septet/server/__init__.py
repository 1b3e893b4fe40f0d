"""HTTP in front of a memory: the operations as JSON, the inspector page, figures for monitoring; extra ``server``."""
