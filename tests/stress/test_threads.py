"""Eight threads on one vault, every public method, while it is embedded, closed and opened again."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

from campaigns.campaign import Campaign
from campaigns.content import embed, entry
from campaigns.operations import opened, rebuilt
from campaigns.user import User
from campaigns.vaults import differences, faults
from septet import CallableEmbedder, Vault

THREADS = 8
#: So many that a sidecar is written in the background.
ENTRIES = 2_100


class Shared:
    """A vault that is closed and opened again under its users."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.vault = self.open()

    def open(self):
        embedder = CallableEmbedder(embed, model="letters")
        return Vault(self.path, embedder=embedder, embedding_cache=self.folder / "cache.db")

    def current(self):
        return self.vault

    def reopen(self):
        old, self.vault = self.vault, self.open()
        old.close()


def test_threads_share_a_vault_with_all_its_methods(tmp_path):
    campaign = Campaign("threads")
    for seed in campaign.rounds(few=1):
        rng, folder = random.Random(seed), tmp_path / str(seed)
        folder.mkdir()
        shared = Shared(folder / "v.db", folder)
        shared.vault.add_many({**entry(rng, 1), "id": f"e{i}", "split": None} for i in range(ENTRIES))
        users = [User(shared.current, f"u{i}", seed, folder) for i in range(THREADS)]
        done = threading.Event()

        def reopen(rng=rng, shared=shared, done=done):
            while not done.wait(rng.random()):
                shared.reopen()
                campaign.tried["reopened"] += 1

        with ThreadPoolExecutor(THREADS + 1) as pool:
            reopening = pool.submit(reopen)
            try:
                for user in pool.map(lambda user: user.run(campaign.of(5)), users):
                    campaign.tried.update(user.tried)
            finally:
                done.set()
            reopening.result()
        wrote = {id: title for user in users for id, title in user.wrote.items()}
        with shared.vault as vault, opened(vault.path, sidecar=False, clock=vault._now) as anew:
            assert {e.id: e.title for e in vault.load(wrote)} == wrote
            assert len(vault) == len(wrote) + ENTRIES
            assert vault.embedding_status(wait_s=60).activity == "idle"
            assert not vault.embedding_status().spaces[0].missing
            vault._now = anew._now = lambda: 2e9
            with rebuilt(vault) as new:
                assert not differences(vault, anew, seed)
                assert not differences(vault, new, seed)
        assert not faults(folder / "v.db")
