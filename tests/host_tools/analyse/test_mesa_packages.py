"""The compilers come by apt, with lists and a cache of its own, from the mirror that this machine already uses."""

import pytest

from host_tools.analyse import mesa_packages, phone_compilers
from host_tools.base import child_process
from host_tools.base.child_process import Completed
from host_tools.base.errors import CommandFailed, FetchFailed, ToolMissing

ARM = phone_compilers.ARCHITECTURES["mali"]


@pytest.fixture
def says(monkeypatch):
    """Lets the programs of apt print this; what was started is in the list that it returns."""
    started = []

    def it(**printed):
        def run(argv, *, env=None, **_):
            started.append((list(map(str, argv)), env or {}))
            return Completed([], 0, printed.get(argv[0].replace("-", "_"), ""), "", 0.0)

        monkeypatch.setattr(child_process, "run", run)
        return started

    return it


MIRRORS = "http://one/debian-security/\nhttp://two/debian/\nhttp://three/debian/\n"


def test_the_mirror_is_the_first_of_debian_itself(says):
    says(apt_get=MIRRORS)
    assert mesa_packages._mirror() == "http://two/debian/"


def test_without_a_mirror_a_sentence_says_so(says):
    says(apt_get="http://one/debian-security/\n")
    with pytest.raises(FetchFailed, match="sources name none"):
        mesa_packages._mirror()


def test_apt_has_nothing_of_this_machines_but_the_mirror_and_the_keys(says, tmp_path):
    started = says(apt_get=MIRRORS)
    apt = mesa_packages._Apt(tmp_path, ARM)
    apt.get("update", show=print)
    argv, environment = started[-1]
    assert (argv[-1], environment["APT_CONFIG"]) == ("update", str(tmp_path / "apt.conf"))
    folders = [line for line in (tmp_path / "apt.conf").read_text().splitlines() if line.startswith("Dir::")]
    assert len(folders) == 6 and all(f'"{tmp_path}/' in line for line in folders)
    sources = (tmp_path / "sources.list").read_text().splitlines()
    assert all("[signed-by=" in line and "http://two/debian/" in line for line in sources)


@pytest.mark.parametrize(
    ("versions", "taken"), [(("27", phone_compilers.MESA), phone_compilers.MESA), (("27", "26"), "27"), ((), "")]
)
def test_the_fixed_version_goes_before_the_newest(says, tmp_path, versions, taken):
    rows = "".join(f"mesa-drm-shim | {version} | http://two/debian trixie/main\n" for version in versions)
    says(apt_get=MIRRORS, apt_cache=rows)
    assert mesa_packages._Apt(tmp_path, ARM).newest() == taken


def test_lists_that_cannot_be_fetched_end_it_at_once(says, tmp_path):
    """apt-get update is content with less, and the next command then blames APT::Default-Release."""
    started = says(apt_get=MIRRORS)
    (tmp_path / "apt").mkdir()
    mesa_packages._unpack(mesa_packages._Apt(tmp_path / "apt", ARM), tmp_path / "root", lambda text: None)
    (update,) = (argv for argv, _ in started if "update" in argv)
    assert "--error-on=any" in update


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
