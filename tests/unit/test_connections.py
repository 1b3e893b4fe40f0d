"""The plugin that fails a test for a connection that nobody closed."""

import gc
import sqlite3

import pytest

from connections import Connections, until_end
from septet import Vault
from septet.errors import Closed


@pytest.mark.parametrize("open", [lambda: sqlite3.connect(":memory:"), lambda: Vault(":memory:")])
def test_a_connection_that_is_lost_is_a_warning_that_names_who_opened_it(request, open):
    with pytest.warns(ResourceWarning) as said:
        open()
        gc.collect()
    assert [str(one.message).split(" did not close ")[0] for one in said] == [request.node.nodeid]


def test_what_a_test_says_is_closed_when_it_ends_and_not_what_its_fixtures_opened():
    test = Connections().pytest_runtest_call()
    with Vault(":memory:") as shared:
        next(test)
        own = until_end(Vault(":memory:"))
        assert len(own) == len(shared) == 0
        assert list(test) == []
        with pytest.raises(Closed):
            len(own)
        assert len(shared) == 0
