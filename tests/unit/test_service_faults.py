"""Errors as HTTP tells them: each by its code, with a status that is about who asks and nobody else."""

import pytest

from septet.client.faults import error_of
from septet.errors import Unauthorized, Unreachable
from septet.service.faults import fault_of


def test_a_token_that_a_server_behind_this_one_refuses_is_no_401_of_this_one():
    fault = fault_of(Unauthorized("http://team wants another token"))
    assert (fault.code, fault.status) == ("unauthorized", 502)
    assert type(error_of(fault.status, fault.to_dict(), "http://here", reads=True, masked=str)) is Unauthorized


@pytest.mark.parametrize("body", [None, [], "no", {}, {"error": "no"}, {"error": {"message": None}}, {"detail": "no"}])
@pytest.mark.parametrize("reads", [True, False])
def test_a_401_is_unauthorized_whoever_says_it_and_however(body, reads):
    told = error_of(401, body, "http://here", reads=reads, masked=str)
    assert type(told) is Unauthorized and not isinstance(told, Unreachable)
    assert "http://here refuses the token" in str(told)
