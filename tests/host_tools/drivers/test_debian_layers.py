"""A program sees packages' files in /usr without their being installed: over or under this machine's own, and nobody else does."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from host_tools.base import child_process
from host_tools.base.child_process import Completed
from host_tools.base.errors import ToolMissing
from host_tools.drivers import debian_layers
from host_tools.drivers.debian_layers import Layers

LAYERS = Layers("thing", ("bookworm",), "package", "1.0", over=("package",))
SHELL = Path("/usr/bin/sh")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Of the packages: a file over this machine's, one that is this machine's too, and one that is new."""
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path))
    for name in ("over/usr/bin/env", "under/usr/bin/sh", "under/usr/share/quadra-is-new"):
        path = LAYERS.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return LAYERS.folder


@pytest.fixture
def prefix():
    try:
        return LAYERS.prefix()
    except ToolMissing as error:
        pytest.skip(f"no overlays here: {error.came_back}")


def _read(prefix, name: str) -> str:
    return child_process.run([*prefix, "cat", f"/usr/{name}"], timeout_s=60).stdout


def test_files_go_over_and_under_the_machines_and_nothing_else_sees_them(prefix):
    shell = SHELL.read_bytes()
    assert _read(prefix, "bin/env") == "over/usr/bin/env"
    assert _read(prefix, "share/quadra-is-new") == "under/usr/share/quadra-is-new"
    kept = child_process.run([*prefix, sys.executable, "-c", f"print(len(open('{SHELL}', 'rb').read()))"], timeout_s=60)
    assert int(kept.stdout) == len(shell)
    assert not Path("/usr/share/quadra-is-new").exists() and Path("/usr/bin/env").stat().st_size > 100


def test_the_command_has_the_callers_folder_environment_and_ending(prefix, tmp_path):
    argv = [*prefix, sys.executable, "-c", "import os; print(os.getcwd(), os.environ['WORD']); raise SystemExit(7)"]
    done = child_process.run(argv, timeout_s=60, cwd=tmp_path, env={"WORD": "two words"}, check=False)
    assert (done.stdout, done.returncode) == (f"{tmp_path} two words\n", 7)


def test_the_process_that_is_started_is_the_command(prefix):
    """So whoever ends it, or looks at how it ended, has the command and no wrapper."""
    process = child_process.start_piped([*prefix, sys.executable, "-c", "import time; time.sleep(60)"])
    end = time.monotonic() + 20
    while _words(process.pid)[0] != os.fsencode(sys.executable) and time.monotonic() < end:
        time.sleep(0.05)
    assert _words(process.pid)[0] == os.fsencode(sys.executable)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(20) == -signal.SIGTERM
    process.stdin.close()
    process.stdout.close()


def _words(process: int) -> list[bytes]:
    return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")


def test_what_was_not_fetched_says_how_it_is_had(folder):
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(ToolMissing, match=r"(?s)use the driver thing: it is not in .*inv drivers --fetch thing"):
        LAYERS.prefix()


def test_a_machine_that_allows_no_overlay_says_so(monkeypatch):
    refused = Completed([], 1, "", "unshare: unshare failed: Operation not permitted\n", 0.0)
    monkeypatch.setattr(child_process, "run", lambda *_, **__: refused)
    with pytest.raises(ToolMissing, match=r"(?s)no overlay .*Operation not permitted.*run it as root, or allow user"):
        LAYERS.prefix()


def test_a_folder_that_an_overlay_cannot_name_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "a:b"))
    LAYERS.folder.mkdir(parents=True)
    with pytest.raises(ToolMissing, match=r"(?s)colon.*set QUADRA_TOOLS_DIR"):
        LAYERS.prefix()


def test_packages_are_laid_over_or_under_by_their_names(tmp_path, monkeypatch):
    class Apt:
        def __init__(self, folder, what, suites):
            self.folder = folder

        def update(self, show):
            pass

        def version(self, package, wanted):
            return "1.1"  # the suites have lost the other

        def download(self, packages, suite, show):
            assert (packages, suite) == (["package=1.1"], "bookworm")
            return [Path("libc6_2_amd64.deb"), Path("package_1.1_amd64.deb")]

    laid = {}
    monkeypatch.setattr(debian_layers, "Apt", Apt)
    monkeypatch.setattr(debian_layers.debian_packages, "unpack", lambda some, root: laid.update({root.name: some}))
    whole = Layers("whole", ("bookworm",), "package", "1.0")
    for layers in (whole, Layers("part", ("bookworm",), "package", "1.0", over=("package",))):
        layers.fetch(print)
        assert (layers.folder / "version").read_text() == "1.1\n"
        assert [path.name for path in laid["over"]] == ["libc6_2_amd64.deb"] * (layers == whole) + [
            "package_1.1_amd64.deb"
        ]
        assert [path.name for path in laid["under"]] == ["libc6_2_amd64.deb"] * (layers != whole)
