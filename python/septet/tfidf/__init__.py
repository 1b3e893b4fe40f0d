"""TF-IDF weights without a vault, for services that need nothing else.

>>> vectorizer = TfidfVectorizer()
>>> rows = vectorizer.fit_transform(["to be or not to be", "to see or not to see"])
>>> vectorizer.vocabulary
['be', 'not', 'or', 'see', 'to']

The numbers equal those of scikit-learn's ``TfidfVectorizer`` with the same parameters, and it works in scikit-learn's
pipelines: ``make_pipeline(TfidfVectorizer(output="scipy"), LogisticRegression())``.
"""

from __future__ import annotations

from septet.tfidf.counting import SparseRows
from septet.tfidf.vectorizer import TfidfVectorizer

__all__ = ["SparseRows", "TfidfVectorizer"]
