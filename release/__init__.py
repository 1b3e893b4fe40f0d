"""How Septet is released: wheels and the sdist, built, checked, tried and compared. ``python -m release --help``."""
