"""Septet behind the interfaces of other libraries: ``langchain``, ``langgraph`` and ``llama_index``.

Each module needs its package, which an extra of the same name brings. They map arguments and results, and search by
`Vault.search`; what an interface cannot say is told by the module.
"""
