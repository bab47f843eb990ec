"""A model is what its name promises, or there is a sentence that says what is wrong."""

import hashlib
import io
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from rich.console import Console

from host_tools.base import child_process, progress
from host_tools.base.errors import FetchFailed, FolderNotWritable
from host_tools.request import catalogue, models, wheels
from host_tools.request.catalogue import Entry, Wheel
from host_tools.request.models import ModelDamaged, ModelNotFound
from host_tools.tasks import list_models

GOOD = b"\x1c\0\0\0TFL3" + b"a model"
SHA = hashlib.sha256(GOOD).hexdigest()
FETCHED = Entry("tiny", "for tests", SHA, member="pkg/tiny.tflite")
OTHER = b"\x1c\0\0\0TFL3" + b"another model"
SECOND = Entry("group/second", "for tests", hashlib.sha256(OTHER).hexdigest(), member="pkg/second.tflite")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """(the user's folder, the downloads folder), and a catalogue of two models of one wheel."""
    mine, downloads = tmp_path / "mine", tmp_path / "downloads"
    mine.mkdir()
    monkeypatch.setenv("QUADRA_MODELS_DIR", str(mine))
    monkeypatch.setenv("QUADRA_DOWNLOADS_DIR", str(downloads))
    monkeypatch.setattr(models, "catalogue", lambda: {e.name: e for e in (FETCHED, SECOND)})
    return mine, downloads


def wheel_of(content: bytes):
    """A download that brings a wheel with both models, the first with this content."""

    def download(wheel, folder):
        path = folder / "some.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("pkg/tiny.tflite", content)
            archive.writestr("pkg/second.tflite", OTHER)
            archive.writestr("../../evil.tflite", b"never unpacked")
        return path

    return download


def test_the_catalogue_names_the_14_models_of_the_wheel_once_each():
    fetched = list(models.catalogue().values())
    assert len(fetched) == len({e.sha256 for e in fetched}) == len({e.member for e in fetched}) == 14
    assert all(len(e.sha256) == 64 and e.about and e.bytes and e.wheel in catalogue.wheels() for e in fetched)


def test_one_fetch_keeps_all_models_of_the_wheel_and_nothing_else(folders):
    _, downloads = folders
    assert models.fetch([FETCHED], wheel_of(GOOD)) == [downloads / "tiny.tflite"]
    assert models.find("tiny", fetch_missing=False).path == downloads / "tiny.tflite"
    names = sorted(str(p.relative_to(downloads)) for p in downloads.rglob("*"))
    assert names == [".lock", "group", "group/second.tflite", "tiny.tflite"]


def test_a_wheel_comes_once_for_all_models_that_are_asked_for_one_by_one(folders, monkeypatch):
    bring, asked = wheel_of(GOOD), []
    monkeypatch.setattr(wheels, "download", lambda wheel, folder: asked.append(wheel) or bring(wheel, folder))
    assert [models.find(name).name for name in ("tiny", "group/second", "tiny")] == ["tiny", "group/second", "tiny"]
    assert asked == [catalogue.wheels()["mediapipe"]]


def test_what_a_killed_fetch_left_is_removed_by_the_next(folders):
    _, downloads = folders
    left = downloads / ".fetch-killed"
    left.mkdir(parents=True)
    (left / "some.whl").write_bytes(b"part of it")
    models.fetch([FETCHED], download=wheel_of(GOOD))
    assert not left.exists() and models.find("tiny", fetch_missing=False)


def test_a_wheel_with_other_content_is_refused_and_leaves_nothing(folders):
    _, downloads = folders
    with pytest.raises(FetchFailed, match="do not use it"):
        models.fetch([FETCHED], download=wheel_of(GOOD + b"!"))
    assert [p.name for p in downloads.rglob("*")] == [".lock"]


def test_a_wheel_without_the_model_is_refused(folders):
    with pytest.raises(FetchFailed, match="pkg/gone.tflite"):
        models.fetch([Entry("gone", "", SHA, "pkg/gone.tflite")], download=wheel_of(GOOD))


def test_a_damaged_download_counts_as_not_there(folders):
    _, downloads = folders
    models.fetch([FETCHED], download=wheel_of(GOOD))
    (downloads / "tiny.tflite").write_bytes(GOOD[:-1])
    assert models.located(FETCHED) is None


def test_the_users_folder_comes_first(folders):
    mine, _ = folders
    models.fetch([FETCHED], download=wheel_of(GOOD))
    (mine / "tiny.tflite").write_bytes(GOOD)
    assert models.find("tiny").path == mine / "tiny.tflite"


def test_the_users_file_is_taken_whatever_the_catalogue_has_under_its_name(folders):
    mine, _ = folders
    models.fetch([FETCHED], download=wheel_of(GOOD))
    (mine / "tiny.tflite").write_bytes(GOOD + b" of another version")
    found = models.find("tiny")
    assert found.path == mine / "tiny.tflite" and found.sha256 != SHA


def test_a_catalogue_model_of_a_group_may_lie_flat_in_the_users_folder(folders):
    mine, _ = folders
    (mine / "second.tflite").write_bytes(OTHER)
    assert (models.find("group/second").name, models.find("second").name) == ("group/second", "second")
    (mine / "second.tflite").write_bytes(GOOD)
    assert not models.is_here("group/second") and models.is_here("second")


def test_models_that_are_required_are_not_fetched_but_named_with_what_fetches_them(folders, monkeypatch):
    mine, _ = folders
    monkeypatch.setattr(models, "fetch", lambda *words: pytest.fail("nobody asked for it"))
    with pytest.raises(
        ModelNotFound, match="(?s)a suite: these models are not here yet: tiny, group/second.*--fetch. .34"
    ):
        models.require(["tiny", "group/second", "tiny"], "a suite")
    (mine / "tiny.tflite").write_bytes(GOOD)
    with pytest.raises(ModelNotFound, match="a suite: this model is not here yet: group/second"):
        models.require(["tiny", "group/second"], "a suite")
    with pytest.raises(ModelNotFound, match="did you mean tiny"):
        models.require(["tinny"], "a suite")
    models.require(["tiny"], "a suite")


def test_a_file_in_the_users_folder_needs_no_catalogue(folders):
    mine, _ = folders
    (mine / "mine.tflite").write_bytes(GOOD + b" of mine")
    found = models.find("mine")
    assert (found.name, found.path) == ("mine", mine / "mine.tflite")


def test_a_path_is_taken_as_it_is(folders, tmp_path):
    (tmp_path / "x.tflite").write_bytes(GOOD + b" x")
    assert models.find(str(tmp_path / "x.tflite")).name == "x"


def test_a_file_has_its_own_name_whatever_its_content_or_a_link_to_it_is_called(folders, tmp_path):
    path = tmp_path / "modèle 1.tflite"
    path.write_bytes(GOOD)  # as the catalogue's tiny
    (tmp_path / "link.tflite").symlink_to(path)
    assert [models.find(str(one)).name for one in (path, tmp_path / "link.tflite")] == ["modèle 1", "link"]


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "is empty"), (b"<html>404</html>", "16 bytes that do not start")]
)
def test_a_file_that_is_no_model_is_told(folders, tmp_path, content, reason):
    path = tmp_path / "bad.tflite"
    path.write_bytes(content)
    with pytest.raises(ModelDamaged, match=reason):
        models.find(str(path))


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("no/such.tflite", "no such file"),
        ("/tmp", "is a folder"),
        ("tinny", "did you mean tiny"),
        ("", "inv models"),
        ("grup/second", "did you mean group/second"),
        ("mein", "mine"),
    ],
)
def test_an_unknown_model_is_told(folders, asked, reason):
    (folders[0] / "mine.tflite").write_bytes(GOOD)
    with pytest.raises(ModelNotFound, match=reason):
        models.find(asked)


def test_a_downloads_folder_that_cannot_be_made_is_told(folders, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("QUADRA_DOWNLOADS_DIR", str(tmp_path / "file" / "models"))
    with pytest.raises(Exception, match="(?s)Not a directory.*QUADRA_DOWNLOADS_DIR"):
        models.fetch([FETCHED], download=wheel_of(GOOD))


def test_a_second_fetch_waits_says_so_and_does_not_fetch_again(folders, capsys):
    _, downloads = folders
    begun, bring, asked = threading.Event(), wheel_of(GOOD), []

    def slow(wheel, folder):
        asked.append(folder)
        begun.set()
        end = time.monotonic() + 5
        while "waiting" not in said() and time.monotonic() < end:
            time.sleep(0.01)
        return bring(wheel, folder)

    words = []

    def said():
        words.append(capsys.readouterr().err)
        return "".join(words)

    with ThreadPoolExecutor() as pool:
        first = pool.submit(models.fetch, [FETCHED], slow)
        assert begun.wait(10)
        second = pool.submit(models.fetch, [FETCHED], slow)
        assert first.result(10) == second.result(10) == [downloads / "tiny.tflite"]
    assert len(asked) == 1 and f"another process fetches into {downloads}" in said()


def test_a_file_that_cannot_be_written_is_told(folders):
    _, downloads = folders
    (downloads / "tiny.tflite").mkdir(parents=True)
    with pytest.raises(FolderNotWritable, match="(?s)fetch into .*Is a directory.*QUADRA_DOWNLOADS_DIR"):
        models.fetch([FETCHED], download=wheel_of(GOOD))


def test_the_sample_picture_is_there():
    assert models.picture().read_bytes()[:2] == b"\xff\xd8"


def test_the_sample_picture_may_lie_in_the_users_folder_and_is_fetched_otherwise(folders, monkeypatch):
    mine, downloads = folders
    face = Entry("face", "", SHA, "pkg/tiny.tflite", wheel="of_pictures", suffix=".jpg")
    pictures = Wheel("pictures==1", "", 1, "", {})
    bring, asked = wheel_of(GOOD), []
    monkeypatch.setattr(catalogue, "picture", lambda: face)
    monkeypatch.setattr(catalogue, "wheels", lambda: {"of_pictures": pictures})
    monkeypatch.setattr(wheels, "download", lambda wheel, folder: asked.append(wheel) or bring(wheel, folder))
    assert models.picture() == models.picture() == downloads / "face.jpg" and asked == [pictures]
    assert not (downloads / "tiny.tflite").exists()  # of another wheel
    (mine / "face.jpg").write_bytes(GOOD)
    assert models.picture() == mine / "face.jpg"


def test_what_is_all_here_needs_no_wheel_and_no_folder(folders):
    mine, downloads = folders
    (mine / "tiny.tflite").write_bytes(GOOD)
    assert models.fetch([FETCHED], lambda wheel, folder: pytest.fail("it is here")) == [mine / "tiny.tflite"]
    assert models.fetch([]) == [] and not downloads.exists()


def test_a_name_without_its_group_is_helped(folders):
    with pytest.raises(ModelNotFound, match="did you mean group/second"):
        models.find("second")


def listed(width: int = 120) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        list_models.show(console)
    return capture.get()


def test_the_users_models_are_listed_first_then_those_that_can_be_fetched(folders, monkeypatch, tmp_path):
    mine, downloads = folders
    (mine / "mynet.tflite").write_bytes(GOOD + bytes(2048))
    (mine / "second.tflite").write_bytes(OTHER)
    (mine / "notes.txt").write_text("no model")
    text = listed()
    own, _, fetchable = text.partition("Models of the package mediapipe 0.10.14 (Apache-2.0; one download of 34.0 MiB)")
    assert [line.split() for line in own.splitlines()[2:4]] == [["mynet", "2.0", "KiB"], ["second", "21", "bytes"]]
    assert str(mine) in own and "notes" not in text
    rows = {line.split()[0]: line for line in fetchable.splitlines() if line.startswith("  ")}
    assert rows["tiny"].rstrip().endswith("no") and str(mine) in rows["group/second"]
    assert "`./inv models --fetch` fetches the 1 that are not here" in fetchable
    models.fetch([FETCHED], wheel_of(GOOD))
    assert "fetched" in listed() and "that are not here" not in listed()
    (mine / "tiny.tflite").write_bytes(OTHER)
    assert "your file of this name is used" in listed()
    monkeypatch.setenv("QUADRA_MODELS_DIR", f"{mine}:{tmp_path}/gone:{downloads}")
    assert "there is no such folder" in listed() and "an earlier folder has this name: give the path" in listed()
    monkeypatch.delenv("QUADRA_MODELS_DIR")
    assert listed().startswith("Your own models: set QUADRA_MODELS_DIR")


def test_on_a_terminal_a_download_has_a_bar_with_bytes(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=screen, force_terminal=True, width=100))
    with progress.transfer("fetch some==1", 4 << 20) as show:
        show(1 << 20)
        show(9 << 20)  # other files of pip's beside it
    assert "fetch some==1" in screen.getvalue() and "4.0/4.0 MiB" in screen.getvalue()


def test_a_download_shows_how_much_has_come(tmp_path, monkeypatch, capsys):
    """pip writes a part, then the rest: the lines say both; what came is checked."""
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.0)

    def pip(argv, *, timeout_s, env, stop):
        assert env == {"TMPDIR": str(tmp_path)} and "some==1" in argv
        part = tmp_path / "pip-unpack-x" / "some.whl"
        part.parent.mkdir()
        for count in (1 << 20, 3 << 20):
            part.write_bytes(bytes(count))
            assert stop() is False
        part.rename(tmp_path / "some.whl")

    monkeypatch.setattr(child_process, "run", pip)
    wheel = Wheel("some==1", "", 3 << 20, hashlib.sha256(bytes(3 << 20)).hexdigest(), {})
    assert wheels.download(wheel, tmp_path) == tmp_path / "some.whl"
    said = capsys.readouterr().err
    assert "fetch some==1: 3.0 MiB" in said and "1.0 MiB of 3.0 MiB" in said and "3.0 MiB of 3.0 MiB" in said
    (tmp_path / "some.whl").unlink()
    (tmp_path / "pip-unpack-x").rmdir()
    with pytest.raises(FetchFailed, match="(?s)its SHA-256 is .*do not use it"):
        wheels.download(Wheel("some==1", "", 3 << 20, "0" * 64, {}), tmp_path)
