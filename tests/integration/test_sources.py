"""The files of a root as they are on the disk: which count, in which order, and what is told of the others."""

import fnmatch
import os
import random
import shutil
import unicodedata
from pathlib import Path

import pytest

from septet import EntryError
from septet._core import shown_path
from septet.files.roots import CURATED, ENDINGS, LAYOUTS, Root, root_at
from septet.files.sources import REASONS, RootFile, Skipped, file_at, path_in, places, scan

NAMES = (
    "a.md",
    "B.MD",
    "c.txt",
    "d.rst",
    "e.markdown",
    "f.mdx",
    "g.jsonl",
    "h.png",
    "README",
    ".hidden.md",
    "i.jsonl.bak",
)


def made(folder: Path, *paths: str) -> Path:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"# {path}\n", encoding="utf-8")
    return folder


def paths_of(root: Root) -> list[str]:
    return [file.path for file in scan(root).files]


def told(root: Root) -> set[tuple[str, str]]:
    skipped = scan(root).skipped
    assert {one.reason for one in skipped} <= REASONS.keys()
    return {(one.path, one.reason) for one in skipped}


def agrees(root: Root) -> None:
    """Every file is found alone as it is found among all, by each of its names; what is not listed is not found."""
    listed = {file.real: file for file in scan(root).files}
    for file in listed.values():
        assert file_at(root, file.path) == file
        assert file_at(root, file.real) == file
        if not root.follow_symlinks:
            assert shown_path(path_in(root, file.real))[0] == file.path
    base = Path(root.path)
    for folder, _, names in os.walk(base if base.is_dir() else base.parent):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - any bytes
            if not os.path.islink(path):  # noqa: PTH114
                assert file_at(root, path) == listed.get(path)


@pytest.mark.parametrize("depth", range(4))
def test_texts_and_transcripts_are_found_at_any_depth_and_nothing_else(tmp_path, depth):
    inside = "/".join(["deep"] * depth)
    made(tmp_path, *(str(Path(inside, name)) for name in NAMES))
    found = scan(root_at(tmp_path)).files
    wanted = [n for n in NAMES if not n.startswith(".") and n.lower().endswith((*ENDINGS, ".jsonl"))]
    assert [Path(file.path).name for file in found] == sorted(wanted)
    assert {file.kind for file in found if file.path.endswith("jsonl")} == {"session"}
    for file in found:
        about = Path(file.real).stat()
        assert (file.size, file.mtime_ns) == (about.st_size, about.st_mtime_ns)
        assert file.real == str(tmp_path / file.path)


@pytest.mark.parametrize("count", [0, 1, 2, 17, 300])
def test_any_number_of_files_comes_in_the_order_of_paths(tmp_path, count):
    made(tmp_path, *(f"{i % 7}/{i:03}.md" for i in range(count)))
    paths = paths_of(root_at(tmp_path))
    assert len(paths) == count
    assert paths == sorted(paths)


@pytest.mark.parametrize("seed", range(6))
def test_a_folder_equals_a_slow_twin_by_rules_and_globs(tmp_path, seed):
    draw = random.Random(seed)
    folders = ["", "docs", "docs/old", "src", ".git", "node_modules/x", "memory", "memory/.deep"]
    for folder in folders:
        made(tmp_path, *(str(Path(folder, name)) for name in draw.sample(NAMES, draw.randrange(len(NAMES)))))
    ignored = draw.sample(["*.txt", "old/", "/src/", "g.jsonl"], draw.randrange(4))
    (tmp_path / draw.choice([".gitignore", ".septetignore"])).write_text("\n".join(ignored), encoding="utf-8")
    exclude = draw.sample(["*.rst", "node_modules"], draw.randrange(3))
    include = draw.choice([[], ["*.md"], ["docs/", "memory/"]])

    def takes(path: str) -> bool:
        parts = path.split("/")

        def hit(glob: str) -> bool:
            if glob.startswith("/"):
                return path.startswith(glob[1:])
            bare = glob.rstrip("/")
            return any(fnmatch.fnmatchcase(part, bare) for part in (parts[:-1] if glob.endswith("/") else parts))

        hidden = any(part.startswith(".") for part in parts)
        named = path.lower().endswith((*ENDINGS, ".jsonl"))
        return (
            named and not hidden and not any(map(hit, [*ignored, *exclude])) and (not include or any(map(hit, include)))
        )

    everything = [
        Path(top, name).relative_to(tmp_path).as_posix() for top, _, names in os.walk(tmp_path) for name in names
    ]
    root = root_at(tmp_path, include=include, exclude=exclude)
    assert paths_of(root) == sorted(filter(takes, everything))
    agrees(root)


def test_the_layout_of_a_memory_reads_what_is_documented_and_no_more(tmp_path):
    made(tmp_path, *CURATED, "notes.md", "memory/2026-01-02.md", "memory/.x/a.md", "memory/node_modules/b.md")
    made(tmp_path, "memory/c.txt", "memory/UP.MD", "memory/s.jsonl", "memories/d.md", "sub/memory/e.md")
    (tmp_path / ".gitignore").write_text("memory/\n", encoding="utf-8")
    root = root_at(tmp_path, layout="memory")
    assert paths_of(root) == [*CURATED, "memory/.x/a.md", "memory/2026-01-02.md", "memory/node_modules/b.md"]
    agrees(root)
    (tmp_path / ".septetignore").write_text("node_modules\nUSER.md\n", encoding="utf-8")
    assert paths_of(root) == [*CURATED[:2], "memory/.x/a.md", "memory/2026-01-02.md"]
    agrees(root)


def test_named_paths_add_files_folders_globs_and_sessions(tmp_path):
    ws = made(
        tmp_path / "ws", "MEMORY.md", "memory/a.md", "docs/b.md", "docs/c.txt", "logs/s.jsonl", "logs/n.md", "x.md"
    )
    made(tmp_path, "out/d.md", "out/deep/e.md", "out/f.txt")
    given = ["docs", " logs ", "", "docs", "../out/*.md", "x.md", "../out/f.txt", "gone", "no/*.md", "memory/a.md"]
    root = root_at(ws, layout="memory", paths=given)
    assert root.paths == ("docs", "logs", "../out/*.md", "x.md", "../out/f.txt", "gone", "no/*.md", "memory/a.md")
    found = scan(root).files
    assert [file.path for file in found] == [
        "MEMORY.md", "memory/a.md", "docs/b.md", "logs/n.md", "logs/s.jsonl", "../out/d.md", "x.md",
    ]  # fmt: skip
    assert [file.kind for file in found if file.path.startswith("logs")] == ["text", "session"]
    assert told(root) == {("../out/f.txt", "ending"), ("gone", "missing"), ("no/*.md", "missing")}
    agrees(root)
    assert places(root) == [
        str(tmp_path / p)
        for p in ("ws", "ws/docs", "ws/logs", "out", "ws/x.md", "out/f.txt", "ws/gone", "ws/no", "ws/memory/a.md")
    ]


def test_an_absolute_path_and_one_above_the_root_show_where_they_are(tmp_path):
    ws = made(tmp_path / "ws", "a.md", "deep/b.md")
    made(tmp_path, "c.md", "other/d.md")
    absolute = root_at(ws, paths=[str(tmp_path / "other"), ".."])
    assert paths_of(absolute) == ["a.md", "deep/b.md", "../other/d.md", "../c.md"]
    assert not told(absolute)
    agrees(absolute)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_root_may_be_one_file(tmp_path, layout):
    made(tmp_path, "notes", "other.md", "s.jsonl")
    assert paths_of(root_at(tmp_path / "notes", layout=layout)) == ["notes"]
    assert [file.kind for file in scan(root_at(tmp_path / "s.jsonl", layout=layout)).files] == ["session"]
    agrees(root_at(tmp_path / "notes", layout=layout))
    assert root_at(tmp_path / "notes").name == "notes"


def test_links_are_told_and_not_followed_unless_asked(tmp_path):
    ws = made(tmp_path / "ws", "a.md", "sub/b.md")
    made(tmp_path, "out/c.md", "out/deep/d.md", "single.md", "x.png")
    for link, to in {
        "out": "../out",
        "single.md": "../single.md",
        "gone.md": "none",
        "pic": "../x.png",
        "twin.md": "a.md",
    }.items():
        (ws / link).symlink_to(to)
    root = root_at(ws)
    assert paths_of(root) == ["a.md", "sub/b.md"]
    assert told(root) == {(link, "symlink") for link in ("out", "single.md", "gone.md", "twin.md")}
    agrees(root)
    followed = root.changed(follow_symlinks=True)
    assert paths_of(followed) == ["a.md", "sub/b.md", "out/c.md", "out/deep/d.md", "single.md"]
    assert scan(followed).skipped == [Skipped("gone.md", "broken_symlink"), Skipped("twin.md", "duplicate", "a.md")]
    agrees(followed)


@pytest.mark.parametrize("hops", range(1, 5))
def test_circles_of_links_end_and_are_told(tmp_path, hops):
    names = [f"d{i}" for i in range(hops)]
    made(tmp_path, *(f"{name}/{name}.md" for name in names))
    for name, then in zip(names, names[1:] + names[:1]):
        (tmp_path / name / "next").symlink_to(tmp_path / then)
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "up").symlink_to(".")
    root = root_at(tmp_path, follow_symlinks=True)
    assert paths_of(root) == [f"{name}/{name}.md" for name in names]
    reasons = dict(told(root))
    assert reasons["up"] == "symlink_cycle"
    assert reasons.get("self", "broken_symlink") == "broken_symlink"
    assert {reasons[f"{name}/next"] for name in names} == ({"symlink_cycle"} if hops == 1 else {"duplicate"})


@pytest.mark.parametrize("hops", range(1, 4))
def test_circles_outside_the_root_end_too(tmp_path, hops):
    ws = made(tmp_path / "ws", "a.md")
    for i in range(hops):
        made(tmp_path, f"o{i}/o{i}.md")
        (tmp_path / f"o{i}" / "next").symlink_to(tmp_path / f"o{(i + 1) % hops}")
    (ws / "in").symlink_to(tmp_path / "o0")
    (tmp_path / "o0" / "back").symlink_to(ws)
    root = root_at(ws, follow_symlinks=True)
    assert paths_of(root) == ["a.md", *("/".join(["in", *["next"] * i, f"o{i}.md"]) for i in range(hops))]
    assert ("in/back", "duplicate") in told(root)


def test_the_root_itself_may_be_behind_a_link(tmp_path):
    made(tmp_path, "real/a.md")
    (tmp_path / "link").symlink_to("real")
    root = root_at(tmp_path / "link")
    assert root.path == str(tmp_path / "real")
    assert paths_of(root) == ["a.md"]
    assert file_at(root, str(tmp_path / "link" / "a.md")) == scan(root).files[0]


@pytest.mark.parametrize("name", [
    "with\nnewline.md", "'quotes\".md", "#hash.md", "!bang.md", " blanks .md", "*star?.md", "[set].md",
    "back\\slash.md", "{brace.md", "-dash.md", "%41.md", "\U0001f600.md", "\u202eltr.md", "a" * 240 + ".md", "\\xff.md",
    "con\x01trol.md", unicodedata.normalize("NFC", "caf\u00e9.md"), unicodedata.normalize("NFD", "caf\u00e9.md"),
])  # fmt: skip
@pytest.mark.parametrize("layout", LAYOUTS)
def test_odd_names_are_found_as_they_are(tmp_path, name, layout):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / name).write_text("x", encoding="utf-8")
    root = root_at(tmp_path, layout=layout)
    assert paths_of(root) == [f"memory/{name}"]
    agrees(root)
    named = root_at(tmp_path / "memory", layout="memory", paths=[name])
    # Blanks around an entry of paths do not count.
    if name == name.strip():
        assert paths_of(named) == [name]


def test_names_of_one_look_in_two_forms_are_two_files(tmp_path):
    names = [unicodedata.normalize(form, "caf\u00e9.md") for form in ("NFC", "NFD")]
    made(tmp_path, *names)
    assert paths_of(root_at(tmp_path)) == sorted(names)


@pytest.mark.parametrize("raw", [b"caf\xe9.md", b"\xff\xfe.md", b"ok-\xc3(.md", b"dir\x80/x.md"])
def test_names_that_are_no_utf8_are_found_under_a_path_with_escapes(tmp_path, raw):
    path = os.path.join(os.fsencode(tmp_path), raw)  # noqa: PTH118
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(b"text")
    root = root_at(tmp_path)
    (found,) = scan(root).files
    found.path.encode("utf-8")
    assert "\\x" in found.path
    assert os.fsencode(found.real) == path
    agrees(root)


def test_a_name_that_looks_like_an_escaped_one_is_told_where_both_are_there(tmp_path):
    for raw in (b"\xff.md", b"\\xff.md"):
        with open(os.path.join(os.fsencode(tmp_path), raw), "wb") as file:  # noqa: PTH118, PTH123
            file.write(raw)
    root = root_at(tmp_path)
    assert paths_of(root) == ["\\xff.md"]
    assert told(root) == {("\\xff.md", "duplicate")}


@pytest.mark.parametrize("path", ["gone", "gone/deeper", "a.md/below"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_root_that_is_not_there_is_missing_and_no_error(tmp_path, path, layout):
    made(tmp_path, "a.md")
    root = root_at(tmp_path / path, layout=layout)
    assert scan(root) == ([], [], True, {})
    assert file_at(root, "a.md") is None
    made(tmp_path / "gone", "MEMORY.md")
    if path == "gone":
        assert paths_of(root) == ["MEMORY.md"]
        shutil.rmtree(tmp_path / "gone")
        assert scan(root).missing


def test_what_goes_away_while_it_is_looked_at_is_at_worst_told(tmp_path):
    from threading import Event, Thread

    made(tmp_path, *(f"{i}/{j}.md" for i in range(30) for j in range(5)))
    root, done = root_at(tmp_path), Event()

    def churn():
        while not done.is_set():
            for i in range(0, 30, 2):
                shutil.rmtree(tmp_path / str(i), ignore_errors=True)
                made(tmp_path, *(f"{i}/{j}.md" for j in range(5)))

    thread = Thread(target=churn)
    thread.start()
    try:
        for _ in range(40):
            seen = scan(root)
            assert {one.reason for one in seen.skipped} <= {"vanished"}
            assert {f"{i}/{j}.md" for i in range(1, 30, 2) for j in range(5)} <= {file.path for file in seen.files}
    finally:
        done.set()
        thread.join()


def test_pipes_are_told_and_never_opened(tmp_path):
    made(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    root = root_at(tmp_path, paths=["pipe.md"])
    assert paths_of(root) == ["a.md"]
    assert told(root) == {("pipe.md", "not_a_file")}


@pytest.mark.parametrize("options", [
    {}, {"layout": "memory"}, {"paths": ["a", "../b/*.md"]}, {"include": "*.md", "exclude": ["x/", "!x/y"]},
    {"follow_symlinks": True, "name": "notes \u00e9"},
])  # fmt: skip
def test_a_root_comes_back_from_its_json(tmp_path, options):
    root = root_at(tmp_path, **options)
    assert Root.from_json(root.path, root.name, root.to_json()) == root
    assert root.changed() == root
    assert root.changed(layout="memory", include=None).include == root.include


@pytest.mark.parametrize(
    "options",
    [
        {"layout": "tree"}, {"layout": 3}, {"paths": 7}, {"paths": [3]}, {"paths": ["a\0b"]}, {"include": ["{a"]},
        {"include": [""]}, {"exclude": ["# comment"]}, {"exclude": "\ud800"}, {"follow_symlinks": 1}, {"name": ""},
        {"name": " "}, {"name": 5}, {"include": ["*"] * 1_001},
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused_by_name(tmp_path, options):
    with pytest.raises(EntryError, match=next(iter(options))):
        root_at(tmp_path, **options)
    with pytest.raises(EntryError):
        root_at(tmp_path).changed(**options)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"layout": "x"}', '{"include": [1]}'])
def test_options_that_were_damaged_are_refused(tmp_path, text):
    with pytest.raises(EntryError):
        Root.from_json(str(tmp_path), "x", text)


def test_options_of_a_later_version_are_left_out(tmp_path):
    assert Root.from_json(str(tmp_path), "x", '{"colour": "blue"}') == root_at(tmp_path, name="x")


@pytest.mark.parametrize("path", ["", "\0", "..", "../..", "/", "//", "a" * 5000, "\ud800", "x\\xff", "\\xff", "~"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_path_that_is_asked_for_is_an_error(tmp_path, path, layout):
    made(tmp_path, "a.md", "MEMORY.md")
    assert file_at(root_at(tmp_path, layout=layout, paths=["../x"]), path) is None
    assert isinstance(file_at(root_at(tmp_path, layout=layout), "./MEMORY.md"), RootFile)
