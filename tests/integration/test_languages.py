"""Recall in many languages: what is written one way is found when it is asked another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from septet import Vault

#: Entries of every script that none of the questions is about; each question has to find its entry among them.
DISTRACTORS = {
    "en": "Rotate the backup tapes every Friday evening",
    "en-code": "def fetch_rows(cursor): return cursor.fetchall()",
    "vi": "Sao lưu cơ sở dữ liệu hàng tuần",
    "uk": "Резервні копії створюють щотижня",
    "zh": "每周备份数据库一次",
    "ja": "毎週金曜日にバックアップを取る",
    "th": "สำรองข้อมูลทุกสัปดาห์",
    "ar": "نسخ احتياطي كل أسبوع",
    "ko": "매주 백업을 만든다",
    "hi": "हर सप्ताह बैकअप लें",
    "de": "Sicherungen jeden Freitag anlegen",
    "el": "Αντίγραφα ασφαλείας κάθε εβδομάδα",
    "tr": "Her hafta yedek alın",
}

CASES = {
    "Vietnamese": (
        "Đường dẫn tới máy chủ xác thực phải được mã hóa",
        ["đường dẫn", "duong dan", "Đường", "DUONG", "xác thực", "xac thuc", "máy chủ", "mã hoá", "ma hoa"],
        ["cá vàng", "bánh mì"],
    ),
    "Vietnamese in decomposed form": (
        "Đặt lại mật khẩu",
        ["mật khẩu", "mat khau", "đặt lại", "dat lai"],
        ["con mèo"],
    ),
    "Ukrainian": (
        "Ключі шифрування зберігай у сховищі, а їхній строк дії перевіряй щодня",
        ["шифрування", "ШИФРУВАННЯ", "їхній", "зберігай", "перевіряй щодня", "де сховищі ключі?"],
        ["котик", "іхніи", "зберігаи"],
    ),
    "Russian": ("Ёмкость пула соединений и йод", ["ёмкость", "ЁМКОСТЬ", "пула соединений", "йод"], ["собака"]),
    "Chinese": (
        "使用三元组分词可以匹配中文子串，默认分词器把整段文字当成一个词。",
        ["中文", "子串", "三元组", "匹配中文子串", "默认分词器", "怎么匹配子串？", "词"],
        ["猫咪", "天气预报"],
    ),
    "Japanese": (
        "アクセストークンの署名を検証し、期限切れのトークンは拒否する",
        ["署名", "検証", "トークン", "署名の検証", "期限切れ", "拒否する", "アクセス トークン", "ﾄｰｸﾝ"],
        ["猫", "天気"],
    ),
    "Thai": (
        "การตรวจสอบลายเซ็นของโทเค็นต้องทำทุกคำขอ",
        ["ลายเซ็น", "ตรวจสอบ", "โทเค็น", "ตรวจสอบลายเซ็น", "คำขอ"],
        ["แมว", "หมู"],
    ),
    "Arabic": (
        "إدارة المفاتيح السرّية في قاعدة البيانات مُشَفَّرة",
        ["المفاتيح", "ادارة", "إدارة", "أدارة", "البيانات", "مشفرة", "مُشَفَّرَة", "السرية", "قاعده", "المفاتـــيح"],
        ["قطة", "سمكة"],
    ),
    "Korean": (
        "인증서를 서버에서 갱신하고 데이터베이스에는 암호화하여 저장한다",
        ["인증서", "인증서가", "인증서 갱신", "서버", "데이터베이스", "암호화"],
        ["고양이", "물고기"],
    ),
    "Hindi": (
        "कुंजियों को सुरक्षित भंडार में रखें और पासवर्ड बदलें",
        ["कुंजियों", "सुरक्षित", "पासवर्ड", "सुरक्षित भंडार", "पासवर्ड कैसे बदलें"],
        ["बिल्ली", "मछली"],
    ),
    "German": (
        "Größe der Schlüssel prüfen, Straße und Übertragung äußerst gründlich sichern",
        [
            "größe",
            "GRÖSSE",
            "Grosse",
            "Groesse",
            "schluessel",
            "Schlussel",
            "Schlüssel",
            "strasse",
            "Straße",
            "STRASSE",
        ],
        ["Katze", "Goldfisch"],
    ),
    "German umlauts asked in every spelling": (
        "Überprüfung der Müller-Tür",
        ["überprüfung", "Uberprufung", "Ueberpruefung", "mueller", "Muller", "MÜLLER", "tuer", "Tür"],
        ["Hund"],
    ),
    "German umlauts written out": ("Mueller und die Strasse", ["Müller", "Straße", "mueller", "strasse"], ["Hund"]),
    "Greek": (
        "Έλεγχος ταυτότητας και κρυπτογράφηση για τους σοφούς",
        ["ελεγχος", "Έλεγχος", "ΈΛΕΓΧΟΣ", "ΕΛΕΓΧΟΣ", "κρυπτογραφηση", "ταυτοτητας", "σοφουσ"],
        ["γάτα", "ψάρι"],
    ),
    "Turkish": (
        "İstanbul sunucusu şifreleme anahtarını ığdır üzerinden alır",
        ["istanbul", "İSTANBUL", "İstanbul", "şifreleme", "sifreleme", "anahtarını", "anahtarini", "ığdır", "igdir"],
        ["kedi", "balık"],
    ),
    "Polish": ("Łódź i żółty klucz", ["łódź", "lodz", "ŁÓDŹ", "zolty"], ["kot"]),
    "French": ("Le café naïf de l'Œuvre", ["cafe", "CAFÉ", "naif", "oeuvre", "œuvre"], ["chat"]),
    "full-width letters": ("ＪＷＴ の検証", ["jwt", "JWT", "ＪＷＴ", "ｊｗｔ"], ["xml"]),
    "full-width letters asked for": ("Check the JWT audience", ["ＪＷＴ", "jwt"], ["ＸＭＬ"]),
    "ligatures": ("Conﬁgure the ﬁrst oﬀset", ["configure", "first", "offset", "ﬁrst"], ["second"]),
    "mixed script in one word": ("重跑gen脚本", ["gen", "重跑", "脚本", "重跑gen", "GEN"], ["猫", "generate"]),
    "emoji between words": ("Ship🎉it with a🚀rocket", ["ship", "rocket", "ship it"], ["🎉"]),
    "joined by zero-width characters": ("می‌خواهم رمز", ["میخواهم", "می‌خواهم", "رمز"], ["گربه"]),
    "camelCase": (
        "getUserName reads the account",
        ["getUserName", "getusername", "user name", "user", "get_user_name"],
        ["password", "hostname"],
    ),
    "camelCase asked for": (
        "Returns the user name of an account",
        ["getUserName", "userName", "user_name"],
        ["password", "hostAddress"],
    ),
    "snake_case": (
        "max_retry_count limits the loop",
        ["max_retry_count", "retry count", "maxRetryCount"],
        ["minTimeout"],
    ),
    "kebab-case": ("set --no-cache-dir in the image", ["no-cache-dir", "cache dir", "cacheDir"], ["volume-mount"]),
    "acronyms": (
        "class HTTPServer(TCPHandler)",
        ["HTTPServer", "http server", "http", "server", "tcp handler"],
        ["ftp"],
    ),
    "words with digits": (
        "digest with sha256 or utf8",
        ["sha256", "SHA 256", "sha", "sha-256", "utf8", "utf-8"],
        ["md5"],
    ),
    "C++ paths": (
        "std::vector<int> grows",
        ["std::vector", "vector", "vector<int>", "std"],
        ["list", "map"],
    ),
    "calls": ("call foo.bar() then baz->qux", ["foo.bar()", "foo.bar", "bar", "bar()", "baz qux"], ["quux"]),
    "C++": ("C++ naming rules", ["C++", "c++ naming", "naming"], ["Rust", "C2"]),
    "node.js": ("node.js event loop", ["node.js", "node js", "Node", "NODE.JS?"], ["deno"]),
    "file paths": (
        "see src/vault/brain.ts:42",
        ["src/vault/brain.ts", "brain.ts", "vault brain", "brain.ts:42"],
        ["main.rs"],
    ),
    "mail addresses": ("write to ops@example.com", ["ops@example.com", "example.com", "ops"], ["root@localhost"]),
}


@pytest.fixture
def vault(request: pytest.FixtureRequest) -> Iterator[Vault]:
    """A vault that holds the text of a case, as a title or as a description, among the distractors."""
    text, field = request.param
    with Vault(":memory:", clock=lambda: 1_760_000_000.0) as made:
        made.add_many({"id": f"other-{name}", "title": other} for name, other in DISTRACTORS.items())
        made.add(id="wanted", **{"title": "—", field: text})
        yield made


def cases(position: int) -> list[object]:
    return [
        pytest.param((case[0], field), case[position], id=f"{name}, {field}")
        for name, case in CASES.items()
        for field in ("title", "description")
    ]


@pytest.mark.parametrize(("vault", "queries"), cases(1), indirect=["vault"])
def test_an_entry_is_found_first_however_it_is_asked_for(vault: Vault, queries: list[str]):
    missed = [query for query in queries if vault.search(query, limit=5).ids[:1] != ["wanted"]]
    assert not missed


@pytest.mark.parametrize(("vault", "queries"), cases(2), indirect=["vault"])
def test_an_entry_is_not_found_by_words_it_does_not_hold(vault: Vault, queries: list[str]):
    wrong = [query for query in queries if "wanted" in vault.search(query, typos=False).ids]
    assert not wrong


def test_a_decomposed_text_is_found_by_a_composed_question_and_the_other_way_round():
    from unicodedata import normalize

    texts = {
        "vi": "Đặt lại mật khẩu",
        "de": "Größe prüfen",
        "ja": "ガイドが読めない",
        "ko": "한국어 문서",
        "uk": "йогурт їжак",
    }
    for stored, asked in (("NFD", "NFC"), ("NFC", "NFD")):
        with Vault(":memory:") as vault:
            vault.add_many({"id": name, "title": normalize(stored, text)} for name, text in texts.items())
            for name, text in texts.items():
                for word in text.split():
                    assert vault.search(normalize(asked, word)).ids[:1] == [name], (stored, word)


def test_memories_are_found_in_every_language():
    with Vault(":memory:") as vault:
        for name, (text, _, _) in CASES.items():
            vault.remember(text, id=name)
        for name, (_, queries, _) in CASES.items():
            assert name in vault.search(queries[0], include_memories=True, limit=50).ids, name


@pytest.mark.parametrize("question", ["đã", "đá", "da", "đa", "mà", "má"])
def test_who_asks_with_accents_finds_the_word_with_these_accents_first(question):
    with Vault(":memory:") as vault:
        vault.add_many(
            {"id": word, "title": f"{word} một hai ba"} for word in ("da", "đa", "đã", "đá", "ma", "mà", "má")
        )
        assert vault.search(question, profile={"extends": "septet", "graph": {"anchors": 0}}).ids[0] == question
