"""Vaults on servers as commands, environments and configurations name them: what is refused, and that nothing tells."""

import pytest
from tests.commands import Commands

from septet.errors import TierError
from septet.service.configuration import configuration_of
from septet.service.opening import opened

pytest.importorskip("typer")
SECRET = "correct-horse"


@pytest.fixture
def septet(tmp_path, monkeypatch):
    return Commands(tmp_path, monkeypatch)


def configured(folder, text):
    path = folder / "tiers.toml"
    path.write_text(text, encoding="utf-8")
    return configuration_of(path)


@pytest.mark.parametrize(
    ("command", "cure"),
    [
        (("sync", "."), "septet push"),
        (("sync",), "septet push"),
        (("watch",), "septet push"),
        (("status",), "septet push"),
        (("forget-root", "notes"), "septet push"),
        (("redact",), "septet push"),
    ],
)
@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_command_for_files_alone_says_so_in_one_line(septet, monkeypatch, command, cure, how):
    address = f"postgresql://agent:{SECRET}@db.example.org/knowledge?vault=team"
    if how == "environment":
        monkeypatch.setenv("SEPTET_VAULT", address)
        code, out, err = septet(*command)
    else:
        code, out, err = septet(*command, "--vault", address)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and f"`septet {command[0]}` requires a vault in a file" in err and cure in err
    assert SECRET not in err


@pytest.mark.parametrize(
    "command", ["search x", "get x", "list", "stats", "add x", "import - ", "export -", "doctor --offline"]
)
def test_an_address_without_a_vault_is_refused_before_anybody_is_asked(septet, command):
    code, out, err = septet(*command.split(), "--vault", f"postgresql://agent:{SECRET}@db.example.org/knowledge")
    assert code == 3 and "names no vault: write ?vault=NAME" in out + err
    assert SECRET not in out + err


def test_a_program_is_not_told_a_password(septet):
    address = f"postgresql://agent:{SECRET}@db.example.org/knowledge?vault=team"
    code, out, err = septet("mcp", "--install", "claude", "--vault", address)
    assert code == 2 and "~/.pgpass" in err and SECRET not in out + err


def test_a_program_is_told_the_address_as_it_is(septet):
    address = "postgresql://agent@db.example.org/knowledge?vault=team"
    code, out, _ = septet("mcp", "--install", "claude", "--vault", address)
    assert code == 0 and address in out


@pytest.mark.parametrize("arguments", [("push", "postgresql://h/d?vault=a", "x.db"), ("pull", "x.db", "y.db")])
def test_the_two_ends_of_a_copy_are_a_file_and_an_address(septet, arguments):
    code, _, err = septet(*arguments)
    assert code == 2 and "wanted `septet push FILE postgresql://…`" in err


@pytest.mark.parametrize(
    ("tier", "said"),
    [
        ('url = "postgresql://h/d"\npath = "a.db"', "wanted one of path, url and dsn_env"),
        ('url = "postgresql://h/d"\ndsn_env = "TEAM"', "wanted one of path, url and dsn_env"),
        ("read_only = true", "wanted one of path, url and dsn_env"),
        ('url = "postgresql://h/d"\ntoken_env = "TOKEN"', "token_env belongs to a tier with an https:// address"),
        ('dsn_env = "TEAM"\ntoken_file = "t"', "token_file belongs to a tier with an https:// address"),
        ('url = "https://h"\nvault = "team"', "vault belongs to a tier with a postgresql:// address"),
        ('url = "https://h"\nprepare = false', "prepare belongs to a tier with a postgresql:// address"),
        ('url = "postgresql://h/d?vault=a"\nreads = "standby"', "reads"),
        ('path = "a.db"\nvault = "team"', "vault belongs to a tier with a url"),
        (f'url = "mysql://u:{SECRET}@h/d"', "url must begin with https://, http:// or postgresql://"),
    ],
)
def test_a_tier_says_in_one_way_where_it_is(tmp_path, tier, said):
    with pytest.raises(TierError, match=said) as told:
        configured(tmp_path, f"[tiers.team]\n{tier}\n")
    assert SECRET not in str(told.value)


def test_a_variable_that_is_not_set_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("TEAM_DSN", raising=False)
    found = configured(tmp_path, '[tiers.team]\ndsn_env = "TEAM_DSN"\nvault = "team"\n')
    with (
        pytest.raises(TierError, match=r"the environment variable 'TEAM_DSN' of dsn_env is not set"),
        opened(None, found),
    ):
        pass


def test_a_variable_without_an_address_is_named_and_not_quoted(tmp_path, monkeypatch):
    monkeypatch.setenv("TEAM_DSN", f"host=h password={SECRET}")
    found = configured(tmp_path, '[tiers.team]\ndsn_env = "TEAM_DSN"\nvault = "team"\n')
    with pytest.raises(TierError, match=r"of dsn_env contains no postgresql:// address") as told, opened(None, found):
        pass
    assert SECRET not in str(told.value)


def test_the_place_of_a_tier_is_shown_without_a_password(tmp_path):
    text = (
        f'[tiers.team]\nurl = "postgresql://agent:{SECRET}@h/d"\nvault = "team"\n[tiers.more]\ndsn_env = "TEAM_DSN"\n'
    )
    found = configured(tmp_path, text)
    assert found.tiers["team"].place == "postgresql://agent:***@h/d"
    assert found.tiers["more"].place == "$TEAM_DSN"
