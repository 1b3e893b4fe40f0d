"""Septet for other libraries: ``langchain``, ``langgraph`` and ``llama_index``.

Each module needs the extra of its name. It maps arguments and results to `Vault.search`, and documents the features
that its interface lacks.
"""
