"""The operations that MCP, HTTP and the client share: validated requests, a served memory, errors with codes.

These interfaces have no retrieval logic of their own: each takes an `Operation` from the table, validates its request,
runs it on a `Served` memory, and sends the JSON of the result's `to_dict()`.
"""
