"""A bound on the size of files, as on a disk that is full."""

from contextlib import contextmanager

import pytest


@contextmanager
def no_larger_than(size):
    """Let no file of this process grow beyond so many bytes; Python ignores the signal that says so."""
    resource = pytest.importorskip("resource", reason="processes have no bound on the size of files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
