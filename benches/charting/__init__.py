"""Charts as SVG, drawn from figures and nothing else: the same figures give the same bytes."""
