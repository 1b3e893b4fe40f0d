"""Backends: the protocol of a store and its tables, and the backend of an address."""
