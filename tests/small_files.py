"""A bound on the size of files, as on a disk that is full."""

import resource
from contextlib import contextmanager


@contextmanager
def no_larger_than(size):
    """Let no file of this process grow beyond so many bytes; Python ignores the signal that says so."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
