"""A tier on another machine: the calls of its sessions and their answers, as JSON-ready values."""
