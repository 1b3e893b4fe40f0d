"""Embedding services: the request and response format of each, and the embedders that speak them."""
