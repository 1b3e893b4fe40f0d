"""Query parsing: options, terms, filters, and the search plan built from them."""
