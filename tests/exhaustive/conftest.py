"""The benchmark that counts steps, for the tests that limit them."""

import pytest


@pytest.fixture(scope="module")
def steps(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(request.config.rootpath / "benches"))
        import steps

        yield steps
