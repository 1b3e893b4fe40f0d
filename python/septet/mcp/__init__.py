"""MCP server of a memory (extra ``mcp``), over standard streams or inside an ASGI app."""
