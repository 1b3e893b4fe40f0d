"""The Dockerfile, as far as it can be judged without a daemon; `tests/image.sh` builds the image and asks it."""

import re

from sources import ROOT, text_of

DOCKERFILE = text_of(ROOT / "Dockerfile")
#: The stage that is the image.
LAST = dict(
    line.split(" ", 1) for line in DOCKERFILE.rpartition("\nFROM ")[2].replace("\\\n", " ").splitlines()[1:] if line
)


def test_the_image_runs_the_command_as_a_user_of_its_own_with_vaults_in_a_volume():
    assert LAST["ENTRYPOINT"] == '["septet"]' and LAST["CMD"].startswith('["serve", "--host", "0.0.0.0"')
    assert LAST["VOLUME"] == LAST["WORKDIR"] == "/data" and "SEPTET_VAULT=/data/" in LAST["ENV"]
    assert LAST["USER"] == "septet" and f"-D -h {LAST['VOLUME']} " in DOCKERFILE


def test_its_health_is_that_of_the_served_memory_at_the_usual_port():
    usual = re.search(r"--port.*? = (\d+)", text_of(ROOT / "python/septet/cli/commands/serving.py"), re.DOTALL)[1]
    assert LAST["EXPOSE"] == usual and f"127.0.0.1:{usual}/readyz" in LAST["HEALTHCHECK"]


def test_it_installs_extras_that_there_are():
    extras = re.search(r'"septet\[([\w,]+)\]', DOCKERFILE)[1].split(",")
    listed = text_of(ROOT / "pyproject.toml").partition("[project.optional-dependencies]")[2]
    assert {"cli", "mcp", "server"} <= set(extras)
    assert all(re.search(rf"^{extra} = ", listed, re.MULTILINE) for extra in extras)
