"""The compilers come by apt, whole or not at all."""

import pytest

from host_tools.analyse import mesa_packages, phone_compilers
from host_tools.base import child_process
from host_tools.base.child_process import Completed
from host_tools.base.errors import CommandFailed, FetchFailed, ToolMissing

MIRRORS = "http://one/debian-security/\nhttp://two/debian/\nhttp://three/debian/\n"


def test_a_fetch_that_fails_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path))

    def run(argv, **_):
        if "indextargets" in argv:
            return Completed([], 0, MIRRORS, "", 0.0)
        raise CommandFailed("run apt-get", "Temporary failure resolving 'two'")

    monkeypatch.setattr(child_process, "run", run)
    monkeypatch.setattr(mesa_packages, "_CLANG", tmp_path)
    monkeypatch.setattr(mesa_packages, "_LLD", tmp_path)
    with pytest.raises(FetchFailed, match="Temporary failure"):
        mesa_packages.install(["mali"])
    assert [path.name for path in (tmp_path / "phone_compilers").iterdir()] == ["lock"]
    assert phone_compilers.installed("mali") is None


def test_without_clang_nothing_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path))
    monkeypatch.setattr(mesa_packages, "_CLANG", tmp_path / "none")
    with pytest.raises(ToolMissing, match="apt-get install clang-22"):
        mesa_packages.install(["adreno"])
