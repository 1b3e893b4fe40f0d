"""Corpora that answer what they are told, wait at a gate, and remember what they were asked."""

import threading

from septet.retrieval.corpus import CorpusAnswer, Item, RankedList

LONG_S = 60.0


class Told:
    """A corpus that answers a list of ``hits``, or what ``finds`` returns for a question; ``does`` is called before."""

    def __init__(self, name, does=lambda asked: None, *, hits=(), local=False, phrasings=True, notes=(), **more):
        self.name, self.does, self.local, self.phrasings, self.notes = name, does, local, phrasings, notes
        self.finds = hits if callable(hits) else lambda asked: hits
        self.more = more
        self.asked, self.threads, self.began = [], [], threading.Event()

    def search(self, asked):
        self.asked.append(asked)
        self.threads.append(threading.current_thread())
        self.began.set()
        self.does(asked)
        items = [Item(f"{self.name}:{hit.id}", hit) for hit in self.finds(asked)]
        return CorpusAnswer(
            [RankedList("text", self.name, items, variant=asked.variant)], notes=self.notes, **self.more
        )

    def get(self, entry_id):
        hits = (one for asked in (self.asked or [None]) for one in self.finds(asked))
        return next((hit.entry for hit in hits if hit.id == entry_id), None)


class Held(Told):
    """A corpus that hangs until the gate opens, for the phrasings that ``when`` chooses."""

    def __init__(self, name, when=lambda asked: True, **more):
        super().__init__(name, self.hang, **more)
        self.gate, self.reached, self.when = threading.Event(), threading.Event(), when

    def hang(self, asked):
        if self.when(asked):
            self.reached.set()
            assert self.gate.wait(LONG_S)


class Until:
    """A deadline that passes when these corpora have answered, or hang."""

    timeout_s, passed = 0.3, False

    def __init__(self, *corpora):
        self.corpora = corpora

    @property
    def left_s(self):
        for corpus in self.corpora:
            if isinstance(corpus, Held):
                assert corpus.reached.wait(LONG_S)
            else:
                assert corpus.began.wait(LONG_S)
                corpus.threads[-1].join(LONG_S)
        return 0.0


class Phrased:
    """Phrasings that are there when the gate opens."""

    took_ms = 1.0

    def __init__(self, *texts, notes=(), gate=None):
        self.variants, self.notes, self.gate = ("ducks", *texts), notes, gate

    def result(self):
        assert self.gate is None or self.gate.wait(LONG_S)
        return self
