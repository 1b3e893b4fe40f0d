"""The exit codes of the command line."""

__all__ = ["INTERRUPTED", "NOTHING", "OK", "PROVIDER", "STORE", "USAGE"]

OK = 0
#: Nothing was found; or a sync has something left to do.
NOTHING = 1
#: An argument, entry, filter or profile is invalid.
USAGE = 2
#: A vault cannot be used.
STORE = 3
#: An embedding provider failed.
PROVIDER = 4
#: What shells return for a command that Ctrl-C ended.
INTERRUPTED = 130
