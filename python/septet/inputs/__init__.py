"""Foreign values: arguments, documents and times are checked and converted here."""
