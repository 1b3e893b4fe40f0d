"""What every face over a wire shares: operations with checked requests, the memory that is served, errors with a code.

MCP, HTTP and the client have no retrieval logic of their own: each takes an `Operation` from the table, checks its
request, runs it on a `Served` memory, and hands on the same JSON that `to_dict()` of the result gives.
"""
