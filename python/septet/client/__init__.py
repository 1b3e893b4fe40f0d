"""A vault on a server: `Client`, and `AsyncSeptet` for asyncio, with the methods and results of `Vault`."""

from septet.client.asynchronous import AsyncSeptet
from septet.client.blocking import Client
from septet.client.external import ExternalFirst

__all__ = ["AsyncSeptet", "Client", "ExternalFirst"]
