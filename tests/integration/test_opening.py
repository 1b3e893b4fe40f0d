"""What is served is opened from arguments, a file or what is found, and closed again."""

import asyncio
import logging
import os

import pytest

from consoles import home_at
from septet import EmbeddingConfigError, NotAVault, ProfileError, ReadOnly, StoreError, TierError, Vault
from septet.errors import Closed
from septet.federation import Federation
from septet.retrieval.config import retrieval_config
from septet.service.configuration import configuration, configuration_of
from septet.service.opening import opened
from septet.service.operations import OPERATIONS


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in [n for n in os.environ if n.startswith(("SEPTET_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name, value in home_at(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def vault_at(path, *titles):
    path.parent.mkdir(parents=True, exist_ok=True)
    with Vault(path) as vault:
        for title in titles:
            vault.add(title=title, id=title.split()[0])
    return path


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def asked(served, name, **request):
    operation = OPERATIONS[name]
    return asyncio.run(served.call(operation, operation.request(**request)))


def test_a_vault_is_created_with_its_folder_and_closed_at_the_end(tmp_path):
    with opened(tmp_path / "new" / "v.db") as served:
        vault = served.blocking
        assert asked(served, "remember", text="The build runs at night.")["id"]
        assert asked(served, "status")["writable"] is True
    with pytest.raises(Closed):
        vault.stats()


def test_a_vault_for_reading_only_must_exist_and_is_not_written(tmp_path):
    with pytest.raises(StoreError, match=r"none\.db does not exist"), opened(tmp_path / "none.db", read_only=True):
        pass
    assert not (tmp_path / "none.db").exists()
    with opened(vault_at(tmp_path / "v.db", "a build"), read_only=True) as served:
        assert [hit["id"] for hit in asked(served, "search", query="build")["hits"]] == ["a"]
        with pytest.raises(ReadOnly):
            asked(served, "remember", text="no")


def test_what_is_served_can_be_opened_and_closed_inside_a_loop(tmp_path):
    async def main():
        with opened(vault_at(tmp_path / "v.db", "a build")) as served:
            operation = OPERATIONS["count"]
            assert await served.call(operation, operation.request()) == {"count": 1}
            await served.aclose()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("toml", '[tiers.agent]\npath = "~/a.db"\n[tiers.own]\npath = "p/b.db"\npriority = 2\nread_only = true\n'),
        (
            "json",
            '{"tiers": {"agent": {"path": "~/a.db"}, "own": {"path": "p/b.db", "priority": 2, "readOnly":true}}}',
        ),
        ("yaml", "tiers:\n  agent: {path: ~/a.db}\n  own: {path: p/b.db, priority: 2, read_only: true}\n"),
    ],
)
def test_tiers_come_from_a_file_with_paths_relative_to_it(tmp_path, home, ending, text):
    vault_at(home / "a.db", "a build of mine", "both mine")
    vault_at(tmp_path / "conf" / "p" / "b.db", "b build of ours", "both ours")
    with opened(config=written(tmp_path / "conf" / f"septet.{ending}", text)) as served:
        assert isinstance(served.blocking, Federation)
        assert asked(served, "status")["tiers"] == {"own": 2.0, "agent": 1.0}
        hits = asked(served, "search", query="build", limit=5)["hits"]
        assert {hit["id"]: hit["tier"] for hit in hits} == {"a": "agent", "b": "own"}
        assert asked(served, "get", id="both")["title"] == "both ours"
        with pytest.raises(ReadOnly):
            asked(served, "remember", text="x", tier="own")
        asked(served, "remember", text="x", tier="agent")
        vaults = [vault for vault, _ in served.blocking._vaults.values()]
    for vault in vaults:
        with pytest.raises(Closed):
            vault.stats()


def test_the_profile_and_the_embedder_of_a_file_count_unless_others_are_given(tmp_path):
    vault_at(tmp_path / "a.db", "a build")
    config = written(
        tmp_path / "c.toml",
        'profile = "six-signals"\n[tiers.agent]\npath = "a.db"\n[embedding]\nprovider = "ollama"\nmodel = "mine"\n',
    )
    with opened(config=config) as served:
        assert asked(served, "status")["profile"] == "six-signals"
        [(vault, _)] = served.blocking._vaults.values()
        assert vault._embedding[0].model == "mine"
    with opened(config=config, profile="septet", embedder={}, read_only=True) as served:
        assert asked(served, "status")["profile"] == "septet"
        [(vault, _)] = served.blocking._vaults.values()
        assert vault._embedding[0] is None


def test_what_a_file_says_of_no_embedder_leaves_the_users(tmp_path):
    config = written(tmp_path / "c.toml", '[tiers.agent]\npath = "a.db"\n')
    users = {"embedder": {"provider": "ollama", "model": "theirs"}}
    with opened(config=config, default_embedder=users) as served:
        [(vault, _)] = served.blocking._vaults.values()
        assert vault._embedding[0]["model"] == "theirs"


def embeds_by_itself(served):
    vaults = [vault for vault, _ in served.blocking._vaults.values()] if hasattr(served.blocking, "_vaults") else []
    [vault] = vaults or [served.blocking]
    return vault._embeddings._options.automatic


def test_a_file_or_the_caller_may_leave_embedding_to_another_process(tmp_path):
    block = '[embedding]\nprovider = "ollama"\nmodel = "mine"\n'
    plain = written(tmp_path / "c.toml", '[tiers.agent]\npath = "a.db"\n' + block)
    quiet = written(tmp_path / "d.toml", '[tiers.agent]\npath = "a.db"\n' + block + "automatic = false\n")
    users = {"embedder": {"provider": "ollama", "model": "theirs"}}
    for settings, expected in (
        ({"config": plain}, True),
        ({"config": quiet}, False),
        ({"config": plain, "automatic": False}, False),
        ({"vault": tmp_path / "v.db", "embedder": users}, True),
        ({"vault": tmp_path / "v.db", "default_embedder": users, "automatic": False}, False),
        ({"vault": tmp_path / "v.db", "embedder": {"embedder": {**users["embedder"], "automatic": False}}}, False),
    ):
        with opened(**settings) as served:
            assert embeds_by_itself(served) is expected
    with opened(tmp_path / "w.db", automatic=False) as served:
        assert asked(served, "status")["writable"] is True


def test_whether_it_embeds_by_itself_is_true_or_false_and_not_said_by_a_fallback_or_an_earlier_model(tmp_path):
    one = {"provider": "ollama", "model": "mine"}
    for wrong in ({**one, "automatic": "no"}, {**one, "fallback": [{**one, "model": "b", "automatic": False}]}):
        with pytest.raises(EmbeddingConfigError, match="automatic"):
            Vault(":memory:", embedder=wrong)
    before = {**one, "model": "before", "automatic": False}
    with Vault(":memory:", embedder=one, previous_embedder=before) as vault:
        assert vault._embeddings._options.automatic


def test_a_profile_may_be_a_file_beside(tmp_path):
    written(tmp_path / "conf" / "rank.json", '{"name": "mine", "based_on": "septet"}')
    config = written(tmp_path / "conf" / "c.toml", 'profile = "rank.json"\n[tiers.agent]\npath = "a.db"\n')
    assert configuration_of(config).profile == str(tmp_path / "conf" / "rank.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no tiers"),
        ("[tiers]\n", "invalid at tiers: Dictionary should have at least 1 item"),
        (
            '[tiers.a]\npth = "a.db"\n',
            "has no field tiers.a.pth; its fields are connections, dsnEnv, optional, path, prepare, priority",
        ),
        ('colour = 1\n[tiers.a]\npath = "a.db"\n', "has no field colour; its fields are external, profile, tiers"),
        ("[tiers.a]\n", "tiers.a: wanted one of path, url and dsn_env"),
        ('[tiers.a]\npath = "a.db"\nurl = "http://h"\n', "tiers.a: wanted one of path, url and dsn_env"),
        ('[tiers.a]\nurl = "h"\n', "url must begin with http"),
        ('[tiers.a]\npath = "a.db"\ntoken_env = "T"\n', "tiers.a: token_env belongs to a tier with a url"),
        ('[tiers.a]\nurl = "http://h"\ntoken_env = "T"\ntoken_file = "t"\n', "either token_env or token_file"),
        ('[tiers.a]\nurl = "http://h"\ntoken = "s3cret"\n', "has no field tiers.a.token"),
        ('[tiers.a]\npath = "a.db"\npriority = 3\n', "tiers.a.priority"),
        ('[tiers.a]\npath = "a.db"\nread_only = "yes"\n', "tiers.a.read_only: Input should be a valid boolean"),
        ("tiers = 3\n", "invalid at tiers"),
        ("= 3\n", "is not valid TOML at line 1"),
    ],
)
def test_a_malformed_file_is_told_with_its_name_and_the_field(tmp_path, text, said):
    path = written(tmp_path / "c.toml", text)
    with pytest.raises(TierError) as fault, opened(config=path):
        pass
    assert str(path) in str(fault.value)
    assert said in str(fault.value)
    assert "s3cret" not in str(fault.value)


def test_a_malformed_embedder_is_told_with_the_file(tmp_path):
    path = written(tmp_path / "c.toml", '[tiers.a]\npath = "a.db"\n[embedding]\nprovider = "nobody"\n')
    with pytest.raises(EmbeddingConfigError, match=r"c\.toml: embedding is invalid at provider"), opened(config=path):
        pass


def test_a_tier_that_cannot_be_opened_stops_the_start_unless_it_is_optional(tmp_path, caplog):
    vault_at(tmp_path / "a.db", "a build")
    written(tmp_path / "bad.db", "no database " * 100)
    text = '[tiers.agent]\npath = "a.db"\n[tiers.team]\npath = "bad.db"\n'
    path = written(tmp_path / "c.toml", text)
    with pytest.raises(NotAVault, match=r"tier 'team' of .*c\.toml: .*bad\.db"), opened(config=path):
        pass
    written(path, f"{text}optional = true\n")
    with caplog.at_level(logging.WARNING, "septet"), opened(config=path) as served:
        assert asked(served, "status")["tiers"] == {"agent": 1.0}
    assert "tier 'team'" in caplog.text
    written(path, '[tiers.team]\npath = "bad.db"\noptional = true\n')
    with pytest.raises(NotAVault, match="tier 'team'"), opened(config=path):
        pass


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('token_env = "NOT_SET"', "variable 'NOT_SET' of token_env is not set"),
        ('token_file = "none"', "none of token_file cannot be read"),
        ('token_file = "empty"', "empty of token_file is empty"),
    ],
)
def test_a_token_that_is_missing_is_told(tmp_path, table, said):
    written(tmp_path / "empty", "\n")
    path = written(tmp_path / "c.toml", f'[tiers.team]\nurl = "http://127.0.0.1:9"\n{table}\n')
    with pytest.raises(TierError, match=said), opened(config=path):
        pass


def test_without_a_file_the_users_vault_and_the_nearest_project_are_found(tmp_path, home):
    vault_at(tmp_path / "project" / ".septet" / "vault.db", "p build")
    inner = tmp_path / "project" / "src" / "deep"
    inner.mkdir(parents=True)
    found = configuration(here=inner)
    assert {name: tier.path for name, tier in found.tiers.items()} == {
        "agent": str(home / ".local/share/septet/vault.db"),
        "project": str(tmp_path / "project" / ".septet" / "vault.db"),
    }
    assert list(configuration(here=tmp_path).tiers) == ["agent"]
    with opened(config=found) as served:
        assert asked(served, "status")["tiers"] == {"agent": 1.0, "project": 0.8}


def test_a_file_named_in_the_environment_and_the_users_own_come_first(tmp_path, home, monkeypatch):
    users = written(home / ".config/septet/config.toml", '[embedding]\nprovider = "none"\n')
    assert list(configuration(here=tmp_path).tiers) == ["agent"]
    written(users, '[tiers.mine]\npath = "m.db"\n')
    assert configuration(here=tmp_path).tiers["mine"].path == str(users.parent / "m.db")
    monkeypatch.setenv("SEPTET_CONFIG", str(written(tmp_path / "e.toml", '[tiers.env]\npath = "e.db"\n')))
    assert list(configuration(here=tmp_path).tiers) == ["env"]
    named = written(tmp_path / "n.toml", '[tiers.named]\npath = "n.db"\n')
    assert list(configuration(named, here=tmp_path).tiers) == ["named"]
    with pytest.raises(TierError, match="both a vault and a configuration"), opened(tmp_path / "v.db", named):
        pass


def test_what_retrieve_reads_is_read_for_what_is_served_too(tmp_path):
    path = written(
        tmp_path / "septet.toml",
        '[tiers.agent]\npath = "v.db"\n[retrieval]\nprofile = "planned-retrieval"\nlimit = 1\n[policy]\nrrf_k = 9\n',
    )
    vault_at(tmp_path / "v.db", "one build", "two build")
    with opened(config=path) as served:
        found = asked(served, "retrieve", query="build")
        assert found["profile"] == "planned-retrieval"
        assert len(found["hits"]) == 1
        assert served.retriever().policy.rrf_k == 9
        assert asked(served, "retrieve", query="build", profile="septet")["profile"] == "septet"


def test_a_file_with_a_retrieval_and_no_tiers_serves_the_tiers_that_are_found(tmp_path, home):
    path = written(tmp_path / "septet.toml", "[retrieval]\nlimit = 1\n")
    vault_at(home / ".local/share/septet/vault.db", "one build", "two build")
    with opened(config=path) as served:
        assert len(asked(served, "retrieve", query="build")["hits"]) == 1


def test_one_vault_is_asked_as_the_file_of_the_user_says(tmp_path, home):
    written(home / ".config/septet/config.toml", "[retrieval]\nlimit = 1\n")
    with opened(vault_at(tmp_path / "v.db", "one build", "two build")) as served:
        assert len(asked(served, "retrieve", query="build")["hits"]) == 1


def test_a_wrong_block_of_a_retrieval_is_refused_when_it_is_served(tmp_path):
    path = written(tmp_path / "septet.toml", '[tiers.agent]\npath = "v.db"\n[retrieval]\nlimits = 1\n')
    with pytest.raises(ProfileError, match=r"septet\.toml: retrieval\.limits does not exist"), opened(config=path):
        pass


def test_variables_of_the_environment_win_over_the_policy_of_what_is_served(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPTET_SEARCH_RRF_K", "9")
    with opened(vault_at(tmp_path / "v.db", "a build")) as served:
        assert served.retriever("planned-retrieval").policy.rrf_k == 9


def test_retrieve_reads_a_file_with_tiers_and_the_profile_of_their_searches(tmp_path):
    path = written(tmp_path / "septet.toml", 'profile = "septet"\n[tiers.agent]\npath = "v.db"\n[policy]\nrrf_k = 9\n')
    assert retrieval_config(path).chosen_policy.rrf_k == 9
