"""Redaction rules as data; `septet.files.redaction` runs them.

Patterns are of Rust's ``regex`` (linear time, no look-around or backreferences). The last matching group is the secret;
without a group, the whole match. ``_B`` is a word boundary.
"""

from __future__ import annotations

from typing import NamedTuple


class RedactionRule(NamedTuple):
    """The pattern and the mask of one kind of secret.

    Attributes:
        name: name in the counts.
        pattern: pattern of Rust's ``regex``; the last matching group is the secret.
        mask: ``hidden`` replaces it by ``***``; ``documented`` keeps its first six and last four characters if it has
            18 or more; ``block`` keeps the first and the last line.
        check: ``any`` accepts every match; ``value`` rejects placeholders and words (``<token>``, ``$TOKEN``,
            ``None``); ``random`` also requires a random look: digits among letters, letters of both cases, or 16 in a
            row; ``mixed`` requires 6 characters or more with digits among letters, or 20 in a row.
    """

    name: str
    pattern: str
    mask: str = "hidden"
    check: str = "any"


_B = r"(?-u:\b)"
_I = f"(?i){_B}"
#: A quoted value, and a bare one; only one group matches.
_QUOTED = r"""(?:"([^"\\\n]+)"|'([^'\\\n]+)'|`([^`\n]+)`)"""
_BARE = r"""([^\s"'`\\,;<>()\[\]{}][^\s"'`\\,;<>]*)"""
_NAMES = (
    r"api_?keys?|secret_?keys?|access_?keys?|private_?keys?|encryption_?keys?|signing_?keys?|master_?keys?|auth_?keys?|"
    r"account_?keys?|license_?keys?|session_?keys?|storage_?keys?|"
    r"api_?secrets?|client_?secrets?|secret|token|password|passwd|passphrase|pwd|credential"
)
#: The same names with words joined by ``-`` too.
_LOWER = _NAMES.replace("_?", "[_-]?")
_ENDS = r"_{0,2}(?-u:\b)"


def _prefixed(name: str, pattern: str, check: str = "random") -> RedactionRule:
    """Return a rule for a token with a known prefix."""
    return RedactionRule(name, f"{_B}(?:{pattern})", check=check)


_BLOCKS = (
    RedactionRule(
        "private_key",
        r"-----BEGI[N] [A-Z0-9 ]*PRIVATE[ ]KEY(?: BLOCK)?-----([\s\S]+?)"
        r"-----END [A-Z0-9 ]*PRIVATE[ ]KEY(?: BLOCK)?-----",
    ),
    # Truncated: without its end line.
    RedactionRule(
        "private_key_cut",
        r"-----BEGI[N] [A-Z0-9 ]*PRIVATE[ ]KEY(?: BLOCK)?-----"
        r"((?:[A-Za-z0-9+/=:,\s\\.]|-[A-Za-z0-9])*?[A-Za-z0-9+/=]{32}[A-Za-z0-9+/=\s\\]*)",
    ),
    RedactionRule("putty_key", r"Private-Lines: \d+\s+([A-Za-z0-9+/=\s]+?)\s*Private-(?:MAC|Hash)"),
    # In Kubernetes configurations: a whole PEM block in base64.
    RedactionRule(
        "private_key_base64",
        _B + r"LS0tLS1CRUdJTi(?:BSU0Eg|BQUklW|BFQyBQ|BPUEVO|BFTkNS|BEU0Eg)[A-Za-z0-9+/=]{20,}",
    ),
    RedactionRule("age_key", _B + r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{20,}"),
)

_HEADERS = (
    RedactionRule(
        "authorization",
        _I + r"""(?:proxy-)?authorization\\?["']?\s*[:=]\s*\\?["']?"""
        r"""(?:bearer|basic|token|digest|apikey|api-key|negotiate|key|aws4-hmac-sha256)[\s=]+([^\s"'`\\]+)""",
        check="value",
    ),
    RedactionRule("bearer", _I + r"bearer\s+([a-z0-9._\-+=/~]{18,})", check="random"),
    RedactionRule("basic_credentials", _I + r"basic\s+([a-z0-9+/]{16,}={0,2})(?:[^a-z0-9+/=]|$)", check="random"),
    RedactionRule(
        "key_header",
        _I + r"""(?:x-[a-z0-9-]*(?:key|token|secret|signature|auth)|private-token|job-token|deploy-token)"""
        r"""\\?["']?\s*:\s*\\?["']?([^\s"'`\\,;]{6,})""",
        check="value",
    ),
    RedactionRule("key_header", _I + r"""api-?key\\?["']?\s*:\s*\\?["']?([^\s"'`\\,;]{6,})""", check="random"),
    RedactionRule(
        "cookie",
        _I + r"""(?:set-)?cookie\\?["']?\s*:\s*\\?["']?([^\s;=,"']+=[^\s;,"']+(?:;\s*[^\s;=,"']+=[^\s;,"']+)*)""",
        check="value",
    ),
    RedactionRule(
        "session_id",
        _I + r"""(?:session_?id|sessid|sid|jsessionid|phpsessid|asp\.net_sessionid|connect\.sid|csrf_?token|"""
        r"""xsrf-token|laravel_session|_session|session_token)=([^\s;,"'&<>]{8,})""",
        check="random",
    ),
)

_URLS = (
    RedactionRule("slack_webhook", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{8,})"),
    RedactionRule("discord_webhook", r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(\d+/[A-Za-z0-9_-]{8,})"),
    RedactionRule("office_webhook", r"""\.webhook\.office\.com/webhookb2/([^\s"'<>]{16,})"""),
    RedactionRule(
        "url_password", _I + r"""[a-z][a-z0-9+.\-]*://[^\s/:@"'`<>]*:([^\s/"'`<>]+)@[a-z0-9\[_]""", check="value"
    ),
    RedactionRule(
        "url_parameter",
        r"(?i)(?:[?&;]|%3F|%26)(?:[a-z0-9_.-]*(?:token|api_?key|apikey|secret|passw(?:or)?d|signature)|key|sig|auth|sas|pwd)"
        r"(?:=|%3D)"
        r"""([^\s&"'#<>`;\])}]{6,})""",
        check="random",
    ),
)

_TOKENS = (
    _prefixed("anthropic", r"sk-ant-[A-Za-z0-9_-]{8,}"),
    _prefixed("sk_key", r"sk-[A-Za-z0-9_-]{8,}"),
    _prefixed("github_pat", r"github_pat_[A-Za-z0-9_]{16,}", "any"),
    _prefixed("github", r"gh[pousr]_[A-Za-z0-9]{16,}", "any"),
    _prefixed("gitlab", r"gl(?:pat|ptt|dt|rt|rtr|cbt|soat|ft|imt|agent|oas|ffct)-[A-Za-z0-9_.-]{16,}"),
    _prefixed("slack", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    _prefixed("slack_app", r"xapp-[A-Za-z0-9-]{10,}"),
    _prefixed("groq", r"gsk_[A-Za-z0-9_-]{10,}"),
    _prefixed("google_api", r"AIza[0-9A-Za-z_-]{20,}"),
    _prefixed("google_oauth", r"(?:ya29\.[A-Za-z0-9_.-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}|1//0[A-Za-z0-9_-]{16,})"),
    _prefixed("perplexity", r"pplx-[A-Za-z0-9_-]{10,}"),
    _prefixed("npm", r"npm_[A-Za-z0-9]{10,}"),
    _prefixed("pypi", r"pypi-[A-Za-z0-9_-]{16,}"),
    _prefixed("hugging_face", r"(?:hf|api_org)_[A-Za-z]{16,}[A-Za-z0-9]*|hf_[A-Za-z0-9]{20,}", "random"),
    RedactionRule(
        "aws_pair",
        _B + r"((?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9/+\n]{1,12}[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
    ),
    _prefixed("aws_key_id", r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|ANPA|ANVA|APKA)[A-Z0-9]{16}" + _ENDS, "any"),
    RedactionRule(
        "aws_secret",
        _I + r"""aws[a-z_ -]{0,30}(?:secret|key)[a-z_ -]{0,20}\\?["']?\s*(?:=>|[:=]|is)?\s*\\?["']?"""
        r"""([a-z0-9/+]{40})(?:[^a-z0-9/+=]|$)""",
        check="random",
    ),
    _prefixed("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]+)*", "any"),
    _prefixed("stripe", r"(?:[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,})"),
    _prefixed("sendgrid", r"SG\.[A-Za-z0-9_-]{12,}\.[A-Za-z0-9_-]{12,}"),
    _prefixed("twilio", r"(?:SK|AC)[0-9a-f]{32}" + _ENDS),
    _prefixed("mailgun", r"key-[0-9a-f]{32}" + _ENDS),
    _prefixed("mailchimp", r"[0-9a-f]{32}-us\d{1,2}" + _ENDS),
    RedactionRule("azure_key", _I + r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=([A-Za-z0-9+/=%&_.-]{16,})"),
    RedactionRule("azure_client", r"(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{30,})"),
    RedactionRule("telegram", rf"(?:{_B}|bot)(\d{{6,12}}:[A-Za-z0-9_-]{{20,}})", check="random"),
    RedactionRule(
        "discord", r"(?:^|[^A-Za-z0-9_.-])([A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})", check="random"
    ),
    _prefixed("digitalocean", r"do[opr]_v1_[0-9a-f]{32,}"),
    _prefixed("shopify", r"shp(?:at|ca|pa|ss|tka)_[A-Za-z0-9]{24,}"),
    _prefixed("square", r"(?:EAAA[A-Za-z0-9_-]{56,}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{16,})"),
    _prefixed("facebook", r"EAA[A-Z0-9][A-Za-z0-9]{60,}"),
    _prefixed("databricks", r"dapi[0-9a-f]{32}(?:-\d)?" + _ENDS),
    _prefixed("vault", r"(?:hv[sbr]\.[A-Za-z0-9_-]{20,}|[sbr]\.[A-Za-z0-9]{24})" + _ENDS),
    _prefixed("docker", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}"),
    _prefixed("notion", r"(?:ntn_[A-Za-z0-9]{30,}|secret_[A-Za-z0-9]{40,})"),
    _prefixed("linear", r"lin_(?:api|oauth)_[A-Za-z0-9]{24,}"),
    _prefixed("atlassian", r"AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{20,}"),
    _prefixed("airtable", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _prefixed(
        "vendor_token",
        r"(?:xai-[A-Za-z0-9_-]{20,}|tvly-[A-Za-z0-9_-]{16,}|r8_[A-Za-z0-9]{30,}|fal_[A-Za-z0-9]{24,}|"
        r"sbp_[0-9a-f]{32,}|sb_secret_[A-Za-z0-9_-]{16,}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{20,}|"
        r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9.]{30,}|glsa_[A-Za-z0-9_]{30,}|glc_[A-Za-z0-9+/=]{30,}|NRAK-[A-Z0-9]{20,}|"
        r"PMAK-[A-Za-z0-9-]{30,}|rubygems_[0-9a-f]{40,}|figd_[A-Za-z0-9_-]{20,}|sntry[su]_[A-Za-z0-9_=+/-]{30,}|"
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}|ops_eyJ[A-Za-z0-9_-]{30,}|fo1_[A-Za-z0-9_-]{30,}|"
        r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}|phx_[A-Za-z0-9]{30,}|HRKU-[A-Za-z0-9_-]{30,}|"
        r"cio[A-Za-z0-9]{32}|oy2[a-z0-9]{43}|lsv2_(?:pt|sk)_[A-Za-z0-9_]{30,}|nvapi-[A-Za-z0-9_-]{30,}|"
        r"PRIVATE-[A-Za-z0-9-]{32,}|dop_v1_[a-f0-9]{40,}|EZ[AT]K[A-Za-z0-9]{30,}|AP[A-Za-z0-9_-]{1,4}~[A-Za-z0-9]{30,})",
    ),
    RedactionRule("password_hash", r"(\$(?:1|2[abxy]|5|6|7|y|apr1|argon2id?|scrypt)\$[./A-Za-z0-9$=,+]{20,})"),
)

#: Commands with a password flag, whose value is a separate argument or attached.
_VALUE = rf"""(?:{_QUOTED}|([^\s"'`\\,;<>()\[\]{{}}-][^\s"'`\\,;<>]*))"""
#: Arguments before the flag, on the same line; for archivers, whose names are words of prose, only flags.
_ARGUMENTS = r"(?:[ \t]+[^\s|;&]+)*?[ \t]+"
_FLAGS = r"(?:[ \t]+-\S+)*?[ \t]+"
_COMMANDS = (
    (r"mysql|mysqldump|mysqladmin|mysqlimport|mysqlshow|mariadb|mariadb-dump|mariadb-admin|mycli", r"-p"),
    (r"sshpass", r"-p[ \t]*"),
    (r"redis-cli|valkey-cli|keydb-cli", r"-a[ \t]+"),
    (r"(?:docker|podman|nerdctl|buildah|skopeo|oras|crane\s+auth|helm\s+registry|az\s+acr)\s+login", r"-p[ \t]+"),
    (r"mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport", r"-p[ \t]+"),
    (r"sqlcmd|bcp|mosquitto_pub|mosquitto_sub", r"-P[ \t]*"),
    (r"7z|7za|7zz", r"-p"),
    (r"ldapsearch|ldapadd|ldapmodify|ldapdelete|ldappasswd|ldapwhoami", r"-w[ \t]+"),
    (r"smbclient|rpcclient", r"-U[ \t]+[^\s%]+%"),
    (r"openssl", r"-(?:pass|passin|passout)[ \t]+pass:"),
    (r"cqlsh|rabbitmqadmin|influx", r"-p[ \t]+"),
)
_ARCHIVERS = ((r"zip|unzip", r"-P[ \t]*"), (r"rar|unrar", r"-p"))

#: The word for password in common languages.
_PASSWORDS = (
    r"pass|pw|pass\s?code|pass\s?word|passwort|kennwort|contrase(?:ñ|n)a|clave|mot\s+de\s+passe|mdp|senha|palavra-passe|wachtwoord|"
    r"parola|has(?:ł|l)o|heslo|jelsz(?:ó|o)|l(?:ö|o)senord|adgangskode|passord|salasana|(?:ş|s)ifre|пароль|κωδικός|"
    r"密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|mật\s+khẩu|kata\s+sandi|سر|رمز|סיסמה|रहस्यशब्द"
)

_ASSIGNED = (
    RedactionRule("cli_user", r"""(?:\s-u|--user)[\s=]+["']?[^\s:"'<>$]+:([^\s"'`]+)""", check="value"),
    RedactionRule("netrc", _I + r"machine\s+\S+\s+login\s+\S+\s+password\s+(\S+)", check="value"),
    RedactionRule(
        "cli_flag",
        r"(?i)(?:^|[^\w-])--?(?:[a-z0-9]+[-_])*(?:api[-_]?key|access[-_]?key|secret[-_]?key|private[-_]?key|token|secret|"
        rf"password|passwd|passphrase|pass)(?:\s+|=)(?:{_QUOTED}|{_BARE})",
        check="value",
    ),
    # Environment variables: `API_KEY=...`. With a space before the value it may be code, and must look random.
    RedactionRule(
        "env_assignment",
        rf"{_B}(?:[A-Z0-9]+_)*(?:{_NAMES.upper()}|[A-Z0-9]+_KEY|PASS)(?:_[A-Z0-9]+)?\s?[=:]\s?{_QUOTED}",
        check="value",
    ),
    RedactionRule(
        "env_assignment",
        rf"{_B}(?:[A-Z0-9]+_)*(?:{_NAMES.upper()}|[A-Z0-9]+_KEY|PASS)(?:_[A-Z0-9]+)?={_BARE}",
        check="value",
    ),
    RedactionRule(
        "env_assignment",
        rf"{_B}(?:[A-Z0-9]+_)*(?:{_NAMES.upper()}|[A-Z0-9]+_KEY|KEY|PASS)(?:_[A-Z0-9]+)?\s*[=:]\s*{_BARE}",
        check="mixed",
    ),
    RedactionRule(
        "json_field",
        rf"""(?i)\\*["'](?:[a-z0-9_.-]*[_.-])?(?:[a-z0-9]*(?:{_LOWER})|auth|pass)\\*["']\s*(?:=>|:)\s*"""
        r"""(?:\\*"([^"\\]+)|\\*'([^'\\]+)')""",
        check="value",
    ),
    RedactionRule(
        "assignment",
        rf"""(?i){_B}(?:[a-z0-9]+[_.-])*(?:[a-z0-9]*(?:{_LOWER}))\s*(?:=>|:=|[=:])\s*{_QUOTED}""",
        check="value",
    ),
    RedactionRule("connection_string", r"""(?i)(?:^|[;\s"'])(?:password|pwd)\s*=\s*([^;"'\s]+)\s*;""", check="value"),
    RedactionRule(
        "assignment",
        rf"(?i){_B}(?:[a-z0-9]+[_.-])*(?:[a-z0-9]*(?:{_LOWER}))\s*(?:=>|:=|[=:])\s*{_BARE}",
        check="mixed",
    ),
    # After the rules for names used by programs.
    *(
        RedactionRule("command_password", rf"(?:^|[^\w./-])(?:{command}){between}{flag}{_VALUE}", check="value")
        for between, commands in ((_ARGUMENTS, _COMMANDS), (_FLAGS, _ARCHIVERS))
        for command, flag in commands
    ),
    RedactionRule(
        "written_password",
        rf"(?i)(?:^|[^\w-])(?:{_PASSWORDS})\s*(?:=>|:=|[=:：＝])\s*(?:{_QUOTED}|{_BARE})",
        check="mixed",
    ),
)

#: The default rules, which mask a secret completely.
DEFAULT: tuple[RedactionRule, ...] = (*_BLOCKS, *_HEADERS, *_URLS, *_TOKENS, *_ASSIGNED)


def _recorded(name: str, pattern: str, mask: str = "documented") -> RedactionRule:
    return RedactionRule(name, "(?i)" + pattern, mask)


_LETTERS = "(?-u:[A-Z0-9_])"
#: The 16 rules first documented, in order.
LITERAL: tuple[RedactionRule, ...] = (
    _recorded(
        "env_assignment",
        rf"""{_B}{_LETTERS}*(?-u:KEY|TOKEN|SECRET|PASSWORD|PASSWD){_B}\s*[=:]\s*"""
        r"""(?:"([^\s"'\\]+)"|'([^\s"'\\]+)'|([^\s"'\\]+))""",
    ),
    _recorded("json_field", r'"(?-u:apiKey|token|secret|password|passwd|accessToken|refreshToken)"\s*:\s*"([^"]+)"'),
    _recorded(
        "cli_flag",
        r"""--(?-u:api[-_]?key|token|secret|password|passwd)\s+(?:"([^\s"']+)"|'([^\s"']+)'|([^\s"']+))""",
    ),
    _recorded("authorization", r"(?-u:Authorization)\s*[:=]\s*(?-u:Bearer)\s+((?-u:[A-Z0-9._\-+=]+))"),
    _recorded("bearer", rf"{_B}(?-u:Bearer)\s+((?-u:[A-Z0-9._\-+=]{{18,}})){_B}"),
    _recorded(
        "private_key",
        r"(?-u:-----BEGI[N] [A-Z ]*PRIVATE[ ]KEY-----)[\s\S]+?(?-u:-----END [A-Z ]*PRIVATE[ ]KEY-----)",
        "block",
    ),
    _recorded("sk_key", rf"{_B}((?-u:sk-[A-Z0-9_-]{{8,}})){_B}"),
    _recorded("github", rf"{_B}((?-u:ghp_[A-Z0-9]{{20,}})){_B}"),
    _recorded("github_pat", rf"{_B}((?-u:github_pat_[A-Z0-9_]{{20,}})){_B}"),
    _recorded("slack", rf"{_B}((?-u:xox[baprs]-[A-Z0-9-]{{10,}})){_B}"),
    _recorded("slack_app", rf"{_B}((?-u:xapp-[A-Z0-9-]{{10,}})){_B}"),
    _recorded("groq", rf"{_B}((?-u:gsk_[A-Z0-9_-]{{10,}})){_B}"),
    _recorded("google_api", rf"{_B}((?-u:AIza[0-9A-Z\-_]{{20,}})){_B}"),
    _recorded("perplexity", rf"{_B}((?-u:pplx-[A-Z0-9_-]{{10,}})){_B}"),
    _recorded("npm", rf"{_B}((?-u:npm_[A-Z0-9]{{10,}})){_B}"),
    _recorded("telegram", rf"{_B}((?-u:[0-9]{{6,}}:[A-Z0-9_-]{{20,}})){_B}"),
)

RULES = {"default": DEFAULT, "literal": LITERAL}
