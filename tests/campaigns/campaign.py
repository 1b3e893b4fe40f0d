"""A campaign: rounds of random trials, each with a seed that repeats it, for as long as the environment says."""

import os
import random
import time
from collections import Counter

#: How many seconds each campaign lasts; without it each plays a few rounds that are always the same.
SECONDS = os.environ.get("SEPTET_STRESS_S")
#: Plays the one round with this seed.
SEED = os.environ.get("SEPTET_STRESS_SEED")


class Campaign:
    """Plays rounds and counts what was tried; at the end, or where a round fails, it says so.

    Attributes:
        tried: how often each thing was tried.
        seconds: how long it goes on; 0 for a few rounds.
    """

    def __init__(self, name):
        self.name = name
        self.tried = Counter()
        self.seconds = float(SECONDS or 0)

    def rounds(self, few):
        """Yield the seed of each round: of so many, or of as many as there is time for."""
        first = random.SystemRandom().randrange(1 << 32) if SECONDS else 0
        until, number = time.monotonic() + self.seconds, 0
        while number < few or time.monotonic() < until:
            seed = int(SEED) if SEED else first + number
            # Shown by pytest where the round fails.
            print(f"{self.name}: SEPTET_STRESS_SEED={seed}")
            self.tried["rounds"] += 1
            yield seed
            number += 1
            if SEED:
                break
        print(self)

    def of(self, few):
        """Return how much of something to do in one round: a few, or ten times as much."""
        return few * 10 if SECONDS else few

    def __str__(self):
        return f"{self.name}: " + ", ".join(f"{count} {what}" for what, count in self.tried.items())
