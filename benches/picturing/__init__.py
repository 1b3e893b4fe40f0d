"""The pictures of `docs/concepts`, from runs that are kept as numbers in `benches/PICTURES.json`."""
