"""Other phrasings of a query, by a callable or a chat model."""
