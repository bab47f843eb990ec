"""Settings come from the environment, in one place, and the README names each."""

import re

import pytest

from host_tools.base import settings
from host_tools.base.errors import FolderNotWritable, Misuse


def test_the_users_folders_are_split():
    config = settings.read({"QUADRA_MODELS_DIR": "/a::/b", "HOME": "/home/x"})
    assert [str(p) for p in config.models_dirs] == ["/a", "/b"]


def test_downloads_follow_the_cache_folder():
    assert str(settings.read({"HOME": "/home/x"}).downloads_dir) == "/home/x/.cache/quadra/models"
    assert str(settings.read({"XDG_CACHE_HOME": "/cache"}).downloads_dir) == "/cache/quadra/models"


def test_an_empty_environment_is_enough():
    assert settings.read({}).models_dirs == ()


def test_a_wrong_debug_level_is_misuse():
    with pytest.raises(Misuse, match="'6' is not one of 0..5"):
        settings.read({"QUADRA_DEBUG": "6"})


def test_the_users_adb_server_is_found_as_adb_finds_it():
    def at(**env):
        found = settings.read(env).adb_server
        return found.host, found.port

    assert at() == at(ANDROID_ADB_SERVER_PORT="") == ("localhost", 5037)
    assert at(ANDROID_ADB_SERVER_ADDRESS="lab", ANDROID_ADB_SERVER_PORT="5038") == ("lab", 5038)
    assert at(ADB_SERVER_SOCKET="tcp:7", ANDROID_ADB_SERVER_PORT="5038") == ("localhost", 7)
    assert at(ADB_SERVER_SOCKET="tcp:lab:7") == ("lab", 7) and at(ADB_SERVER_SOCKET="tcp:[::1]:7") == ("::1", 7)
    for name, text in {
        "ANDROID_ADB_SERVER_PORT": "9" * 5000,
        "ADB_SERVER_SOCKET": "localabstract:x",
        "QUADRA_ADB_PORT": "80",
    }.items():
        with pytest.raises(Misuse, match=name):
            settings.read({name: text})


def test_a_folder_in_the_way_of_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FolderNotWritable, match="(?s)Not a directory.*set QUADRA_RUNS_DIR"):
        settings.make_folder(tmp_path / "file" / "runs", "QUADRA_RUNS_DIR")


def test_the_readme_names_every_setting():
    source = (settings.ROOT / "host_tools" / "base" / "settings.py").read_text()
    readme = (settings.ROOT / "README.md").read_text()
    assert not [name for name in set(re.findall(r"QUADRA_[A-Z_]+", source)) if name not in readme]
