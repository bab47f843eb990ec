"""Debian's packages come by apt, with lists and a cache of its own, from the mirror that this machine already uses."""

import pytest

from host_tools.base import child_process
from host_tools.base.child_process import Completed
from host_tools.base.errors import CommandFailed, FetchFailed
from host_tools.drivers import debian_packages
from host_tools.drivers.debian_packages import Apt

SUITES = ("trixie", "trixie-backports")


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
    assert debian_packages.mirror() == "http://two/debian/"


def test_without_a_mirror_a_sentence_says_so(says):
    says(apt_get="http://one/debian-security/\n")
    with pytest.raises(FetchFailed, match="sources name none"):
        debian_packages.mirror()


def test_apt_has_nothing_of_this_machines_but_the_mirror_and_the_keys(says, tmp_path):
    started = says(apt_get=MIRRORS)
    apt = Apt(tmp_path, "drivers", SUITES)
    apt.get("update", show=print)
    argv, environment = started[-1]
    assert (argv[-1], environment["APT_CONFIG"]) == ("update", str(tmp_path / "apt.conf"))
    folders = [line for line in (tmp_path / "apt.conf").read_text().splitlines() if line.startswith("Dir::")]
    assert len(folders) == 6 and all(f'"{tmp_path}/' in line for line in folders)
    sources = (tmp_path / "sources.list").read_text().splitlines()
    assert all("[signed-by=" in line and "http://two/debian/" in line for line in sources)


@pytest.mark.parametrize(("versions", "taken"), [(("27", "25"), "25"), (("27", "26"), "27"), ((), "")])
def test_the_fixed_version_goes_before_the_newest(says, tmp_path, versions, taken):
    rows = "".join(f"mesa-drm-shim | {version} | http://two/debian trixie/main\n" for version in versions)
    says(apt_get=MIRRORS, apt_cache=rows)
    assert Apt(tmp_path, "drivers", SUITES).version("mesa-drm-shim", "25") == taken


def test_lists_that_cannot_be_fetched_end_it_at_once(says, tmp_path):
    """apt-get update is content with less, and the next command then blames APT::Default-Release."""
    started = says(apt_get=MIRRORS)
    Apt(tmp_path, "drivers", SUITES).update(print)
    assert started[-1][0][-2:] == ["update", "--error-on=any"]


def test_what_apt_brought_is_unpacked_without_its_documentation(tmp_path):
    root, tree = tmp_path / "root", tmp_path / "tree"
    for name in ("usr/lib64/library", "usr/share/doc/page", "DEBIAN/control"):
        (tree / name).parent.mkdir(parents=True)
        (tree / name).write_text("Package: thing\nVersion: 1\nArchitecture: all\nMaintainer: none\nDescription: none\n")
    child_process.run(["dpkg-deb", "--build", "--root-owner-group", tree, tmp_path / "thing.deb"], timeout_s=60)
    debian_packages.unpack([tmp_path / "thing.deb"], root)
    assert (root / "lib64/library").is_file() and not (root / "usr/share/doc").exists()


def test_a_fetch_that_fails_says_what_it_was_for(says, tmp_path, monkeypatch):
    says(apt_get=MIRRORS)
    apt = Apt(tmp_path, "drivers of OpenCL", SUITES)

    def run(argv, **_):
        raise CommandFailed("run apt-get", "Temporary failure resolving 'two'")

    monkeypatch.setattr(child_process, "run", run)
    with pytest.raises(FetchFailed, match=r"fetch drivers of OpenCL from Debian's packages: Temporary failure"):
        apt.download(["thing"], SUITES[-1], print)
