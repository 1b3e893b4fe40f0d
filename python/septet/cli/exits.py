"""The exit codes of the command line."""

OK = 0
#: Nothing found, or a sync is incomplete.
NOTHING = 1
#: An argument, entry, filter or profile is invalid.
USAGE = 2
#: A vault cannot be used.
STORE = 3
#: An embedding provider failed.
PROVIDER = 4
#: The exit code of shells for Ctrl-C.
INTERRUPTED = 130
