"""What can be asked: one module per corpus, all with the interface of `septet.retrieval.corpus.Corpus`."""
