"""Running the core and the wheel on Windows: under wine, with CPython for Windows from its embeddable package."""
