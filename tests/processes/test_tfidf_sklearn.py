"""Tests of `integration/test_tfidf_sklearn.py` that start processes."""

import subprocess
import sys


def test_scikit_learn_and_scipy_are_not_loaded_for_it():
    script = (
        "import sys, pickle; from septet import TfidfVectorizer as T; v = T(stop_words='english').fit(['a text'])\n"
        "pickle.loads(pickle.dumps(v)).inverse_transform(v.transform(['text']))\n"
        "assert not {'sklearn', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
