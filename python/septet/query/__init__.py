"""What a caller asks: options, terms, filters, and the plan made of them."""
