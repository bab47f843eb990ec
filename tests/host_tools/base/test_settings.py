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


def test_a_folder_in_the_way_of_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FolderNotWritable, match="(?s)Not a directory.*set QUADRA_RUNS_DIR"):
        settings.make_folder(tmp_path / "file" / "runs", "QUADRA_RUNS_DIR")


def test_the_readme_names_every_setting():
    source = (settings.ROOT / "host_tools" / "base" / "settings.py").read_text()
    readme = (settings.ROOT / "README.md").read_text()
    assert not [name for name in set(re.findall(r"QUADRA_[A-Z_]+", source)) if name not in readme]
