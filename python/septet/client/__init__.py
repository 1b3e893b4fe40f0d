"""A vault on a server: `Client`, and `AsyncClient` for asyncio, with the methods and results of `Vault`."""

from septet.client.asynchronous import AsyncClient
from septet.client.blocking import Client
from septet.client.external import ExternalFirst

__all__ = ["AsyncClient", "Client", "ExternalFirst"]
