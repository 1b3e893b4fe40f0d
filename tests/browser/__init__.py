"""The inspector page, used in a real browser as a person would."""
