"""Passwords in commands and notes are masked, and what only looks like one stays."""

import pytest

from septet import Redactor

SECRET = "Tapir9941"


@pytest.mark.parametrize(
    "text",
    [
        "mysql -u root -p{} shop",
        "mysqldump --all -p'{}' x > y",
        "`mysql -p{}`",
        "sshpass -p '{}' ssh host",
        "sshpass -p{} ssh host",
        "redis-cli -h cache -a {} ping",
        "docker login -u d -p {} example.org",
        "echo x | docker login --username d -p {}",
        "mongosh -u u -p {} host",
        "sqlcmd -S server -U sa -P {}",
        "zip -P {} a.zip b",
        "7z a -p{} x.7z",
        "ldapsearch -x -w {} -b dc=example",
        "smbclient -U bob%{} //host/share",
        "mosquitto_pub -u x -P {} -t topic",
        "pass: {}",
        "- pw = {}",
        "Passwort: {}",
        "contraseña: {}",
        "mot de passe : {}",
        "Пароль: {}",
        "密码：{}",
        "パスワード: {}",
        "비밀번호: {}",
    ],
)
def test_a_password_is_masked_where_commands_and_people_write_it(text):
    masked, counts = Redactor().redact(text.format(SECRET))
    assert SECRET not in masked and masked == text.format("***") and sum(counts.values()) == 1


def test_a_password_behind_pass_is_masked_whichever_rule_sees_it():
    assert Redactor().redact(f"openssl enc -pass pass:{SECRET} -in x")[0] == "openssl enc -pass *** -in x"


@pytest.mark.parametrize(
    "text",
    [
        "mysql -p shop",
        "mysql -u root -p shop < dump.sql",
        "mysql -P 3307 -h production9a db",
        "ssh -p 22 host9999x",
        "docker run -p 80:80 nginx1a",
        "docker login -u d -p",
        "mkdir -p x/y9zzz1",
        "cp -p a1b2c3d4 b",
        "redis-cli -p 6379 ping",
        "psql -p 5432 db",
        "mongosh -p --authenticationDatabase admin1a",
        "zip -r out.zip Photos2024",
        "unzip the files and copy them with scp -P 2222 host",
        "mysql is a server\n\nuse the flag -print9a here",
        "redis-cli asks the server\n- then run it with -a Tapir9941",
        "rar or zip: either will do, -pedantic9a or not",
        "7z x archive2024.7z",
        "pass: the test",
        "pass: 9 of 10 tests",
        "pw: see vault",
        "the pass: Brenner",
        "bypass: route66highway",
    ],
)
def test_what_only_looks_like_a_password_stays(text):
    assert Redactor().redact(text)[0] == text
