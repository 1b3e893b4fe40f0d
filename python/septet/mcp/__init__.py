"""A memory as a server of the Model Context Protocol (extra ``mcp``): over standard streams, or inside an ASGI app."""
