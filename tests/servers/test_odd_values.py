"""Every public callable takes any value for any argument: it ends in a result or in an error of Septet's own.

The table of values and that of arguments are multiplied; a fixed part of the product is tried here, and with
``SEPTET_STRESS_S`` random parts of it, heavy values too, for so many seconds.

What a value of the caller's raises itself (`odd_values.Evil`) may come through unchanged: it is no fault of Septet's.
Wrong names or numbers of arguments are a `TypeError` of Python's.
"""

import asyncio
import os
import random
import time
import warnings

import pytest

import odd_values
import septet
import walk
import walk_inside

CALLS = [*walk_inside.NESTED, *walk.calls()]
#: So many values for each argument, other ones for the next.
EACH = 3
#: Those that say that the system's errors about files come through.
RAISES_OS_ERRORS = {"VectorIndex.save"}
#: A message shows what was seen, cut: never a whole text.
MOST_CHARS = 1_500


class Walk:
    """Calls in a world that is made anew when a call has changed it."""

    def __init__(self, folder):
        self.folder, self.count, self.world = folder, 0, None
        self.renew()

    def renew(self):
        if self.world is not None:
            self.world.close()
        self.count += 1
        (self.folder / str(self.count)).mkdir()
        self.world = walk.World(self.folder / str(self.count))
        self.before = self.world.content()

    def fault(self, call, name):
        """Call with a value; return what is wrong, or nothing."""
        found = self._outcome(call, odd_values.ALL[name]())
        if self.world.content() == self.before:
            assert self.world.vault.search("ducks").ids[0] == "a"
        else:
            self.renew()
            found = "it was refused and wrote" if found == "refused" else found
        return "" if found == "refused" else f"{call.name}({call.argument}={name}): {found}" if found else ""

    def _outcome(self, call, value):
        try:
            made = call.make(self.world, value)
            walk.used(asyncio.run(made) if asyncio.iscoroutine(made) else made)
        except odd_values.Evil:
            return "refused"
        except septet.SeptetError as error:
            said = str(error)
            if not said or len(said) > MOST_CHARS:
                return f"its message has {len(said)} characters"
            return "refused" if said.isprintable() else f"its message is not printable: {said!a}"
        except Exception as error:  # noqa: BLE001 - this is what the test is about
            if isinstance(error, OSError) and call.name in RAISES_OS_ERRORS:
                return "refused"
            return f"{type(error).__name__}: {str(error)[:200]!a}"
        return ""


@pytest.fixture
def walked(tmp_path, monkeypatch):
    # Relative paths among the values.
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    made = Walk(tmp_path)
    with warnings.catch_warnings():
        # Of numpy, about values that it then refuses.
        warnings.simplefilter("ignore")
        yield made
    made.world.close()


def test_every_callable_with_arguments_is_walked():
    walked = {call.name for call in CALLS}
    assert {"Vault.search", "Federation.load", "VectorIndex.add", "top_k", "Profile", "embedder_from"} <= walked
    assert len(CALLS) > 500


@pytest.mark.parametrize("part", range(8))
def test_any_value_ends_in_a_result_or_in_an_error_of_septet(walked, part):
    names = list(odd_values.LIGHT)
    faults = []
    for number, call in enumerate(CALLS):
        if number % 8 == part:
            # A step that shares no factor with the number of values visits all of them.
            chosen = {names[(number * 71 + turn * 59) % len(names)] for turn in range(EACH)}
            faults += filter(None, (walked.fault(call, name) for name in sorted(chosen)))
    assert not faults, "\n".join(faults)


@pytest.mark.skipif(not os.environ.get("SEPTET_STRESS_S"), reason="a campaign: set SEPTET_STRESS_S to its seconds")
def test_a_campaign_of_any_value_for_any_argument(walked):
    seed = random.randrange(2**32)
    chance, end, faults, tried = random.Random(seed), time.monotonic() + float(os.environ["SEPTET_STRESS_S"]), [], 0
    while time.monotonic() < end:
        call, name = chance.choice(CALLS), chance.choice(list(odd_values.ALL))
        faults += filter(None, [walked.fault(call, name)])
        tried += 1
    print(f"seed {seed}: {tried} calls, {len(faults)} faults")
    assert not faults, "\n".join(faults)
