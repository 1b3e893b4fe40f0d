"""What is given as an environment, or as a function, is looked at before it is used, and never shown."""

import pytest

from septet import EmbeddingConfigError, ProfileError, QueryError, Retriever
from septet.embedding import OpenAIEmbedder, VoyageEmbedder
from septet.embedding.choose import embedder_from
from septet.embedding.local.folder import local_models
from septet.retrieval import Policy
from septet.retrieval.expansion.chat import ChatExpander

ODD = [5, "OPENAI_API_KEY=sk-secret", [("OPENAI_API_KEY", "sk-secret")], {"OPENAI_API_KEY": 5}, {5: "sk-secret"}, True]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize(
    ("error", "call"),
    [
        (EmbeddingConfigError, lambda odd: OpenAIEmbedder("m", environment=odd)),
        (EmbeddingConfigError, lambda odd: VoyageEmbedder("m", api_key="k", environment=odd)),
        (EmbeddingConfigError, lambda odd: embedder_from("openai", environment=odd)),
        (EmbeddingConfigError, lambda odd: embedder_from("auto", environment=odd)),
        (EmbeddingConfigError, lambda odd: local_models(environment=odd)),
        (ProfileError, lambda odd: ChatExpander("m", environment=odd)),
    ],
    ids=["openai", "voyage", "choose", "auto", "local", "chat"],
)
def test_an_environment_that_is_none_is_an_error_of_the_tree(error, call, odd):
    with pytest.raises(error, match="environment") as raised:
        call(odd)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("odd", [5, "OPENAI", [1]])
def test_a_policy_is_read_from_a_mapping_only(odd):
    with pytest.raises(ProfileError, match="environment"):
        Policy.from_env(odd)


@pytest.mark.parametrize("odd", ["x", "", 5, [1]])
def test_a_retriever_is_closed_by_a_function_only(odd):
    with pytest.raises(QueryError, match="close"):
        Retriever(None, None, {}, None, close=odd)
