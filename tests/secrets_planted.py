"""Made-up secrets of many kinds, in the texts that people paste."""

import random
import string

_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"
_KEY = "PRIVATE" + " KEY"

#: The text around a secret, and the secret: `a` letters and digits, `x` hexadecimal, `u` upper case, `b` base64,
#: each with a number.
_SHAPES = {
    "environment": "export DB_PASSWORD={a12}",
    "environment_quoted": 'API_KEY="{a24}"',
    "environment_spaced": "GATEWAY_TOKEN = {a20}",
    "json_field": '{{"apiKey": "{a20}", "n": 1}}',
    "json_in_json": '{{\\"client_secret\\": \\"{a20}\\"}}',
    "cli_flag": "tool --api-key {a24} run",
    "cli_flag_equals": "tool --token={a16} run",
    "yaml": "password: {a14}",
    "bearer_header": "Authorization: Bearer {a40}",
    "bearer": "use Bearer {a32} there",
    "basic_header": "authorization: Basic {b32}",
    "key_header": "X-Api-Key: {a32}",
    "private_key": f"-----BEGIN RSA {_KEY}----- {{b64}} -----END RSA {_KEY}-----",
    "ssh_key": f"-----BEGIN OPENSSH {_KEY}-----\\n{{b64}}\\n-----END OPENSSH {_KEY}-----",
    "pgp_key": f"-----BEGIN PGP {_KEY} BLOCK----- {{b64}} -----END PGP {_KEY} BLOCK-----",
    "age_key": "AGE-SECRET-KEY-1{u58}",
    "openai": "sk-{a48}",
    "openai_project": "sk-proj-{a60}",
    "anthropic": "sk-ant-api03-{a80}",
    "github": "ghp_{a36}",
    "github_oauth": "gho_{a36}",
    "github_server": "ghs_{a36}",
    "github_pat": "github_pat_{a22}_{a59}",
    "gitlab": "glpat-{a20}",
    "slack": "xoxb-{d12}-{d12}-{a24}",
    "slack_app": "xapp-1-A{d10}-{d12}-{x64}",
    "slack_webhook": "https://hooks.slack.com/services/T{u8}/B{u8}/{a24}",
    "discord_webhook": "https://discord.com/api/webhooks/{d18}/{a68}",
    "groq": "gsk_{a52}",
    "google_api": "AIza{a35}",
    "google_oauth": "ya29.{a60}",
    "google_secret": "GOCSPX-{a28}",
    "perplexity": "pplx-{a48}",
    "npm": "npm_{a36}",
    "pypi": "pypi-AgEI{a60}",
    "hugging_face": "hf_{a34}",
    "aws_id": "AKIA{u16}",
    "aws_secret": "aws_secret_access_key = {b40}",
    "aws_pair": "AKIAQWERTYUIOPASDFGH:{b40}",
    "jwt": "eyJ{a20}.eyJ{a30}.{a43}",
    "url": "https://bob:{a16}@example.org/path",
    "database": "postgresql://app:{a16}@db.example.org:5432/app",
    "connection_string": "Server=db;Database=app;Uid=app;Pwd={a14};",
    "url_parameter": "https://example.org/x?access_token={a32}&n=1",
    "stripe": "sk_live_{a24}",
    "stripe_webhook": "whsec_{a32}",
    "sendgrid": "SG.{a22}.{a43}",
    "twilio": "SK{x32}",
    "mailgun": "key-{x32}",
    "azure_storage": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={b86}==;EndpointSuffix=core",
    "telegram": "{d10}:AA{a33}",
    "cookie": "Cookie: sessionid={a32}; theme=dark",
    "session": "JSESSIONID={a32}",
    "digitalocean": "dop_v1_{x64}",
    "shopify": "shpat_{x32}",
    "databricks": "dapi{x32}",
    "docker": "dckr_pat_{a27}",
    "notion": "ntn_{a46}",
    "linear": "lin_api_{a40}",
}
KINDS = sorted(_SHAPES)
_ALPHABETS = {"a": _LETTERS, "x": _HEX, "u": _BASE32, "b": _LETTERS + "+/", "d": string.digits}


def planted(kind: str, draw: random.Random) -> tuple[str, str]:
    """Return a text with a secret in it, and the secret's longest part drawn by lot."""
    drawn: list[str] = []

    class Fill(dict):
        def __missing__(self, name: str) -> str:
            size = int(name[1:])
            made = "".join(draw.choices(_ALPHABETS[name[0]], k=size))
            # A digit, a small and a capital letter, as nearly every drawn secret has.
            if name[0] in "ab":
                made = "7" + made[1:-2] + "qZ"
            drawn.append(made)
            return made

    text = _SHAPES[kind].format_map(Fill())
    return text, max(drawn, key=len)
