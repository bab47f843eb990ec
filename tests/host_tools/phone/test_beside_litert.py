"""Quadra beside LiteRT's programs on virtual devices, which are other processes behind the real adb.

LiteRT's own programs for Android are not run there: they come by a download, for arm64 alone."""

import hashlib

import pytest

from host_tools.base.android import ACCELERATOR, DELEGATE
from host_tools.base.errors import DeviceRefused, Misuse, TransferFailed
from host_tools.build import artifacts
from host_tools.phone.adb import choice
from host_tools.phone.app import beside_litert
from host_tools.phone.app.beside_litert import LIST, ROOT
from host_tools.phone.files import transfer
from host_tools.tasks import command_line
from host_tools.virtual_device import registry

pytestmark = pytest.mark.usefixtures("adb")
THEIRS = "libLiteRtClGlAccelerator.so"


@pytest.fixture
def device(tmp_path):
    """One that LiteRT's CLI has pushed its programs to."""
    registry.start("virtual")
    (found,) = choice.choose("virtual")
    for name in ("libLiteRt.so", "run_model", THEIRS):
        (tmp_path / name).write_text(f"LiteRT's {name}")
        found.send(tmp_path / name, f"{ROOT}/{name}")
    yield found
    registry.stop("virtual")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """made(version): the two libraries, of another content for each version; the abi that was asked for is in them."""

    def make(version):
        def of(name):
            def path(abi):
                (tmp_path / version).mkdir(exist_ok=True)
                (tmp_path / version / name).write_text(f"{name} {version} for {abi}")
                return tmp_path / version / name

            return path

        monkeypatch.setattr(artifacts, "android", of(DELEGATE))
        monkeypatch.setattr(artifacts, "android_accelerator", of(ACCELERATOR))

    make("1")
    return make


def inv(capsys, *words):
    status = command_line.main([*words, "--litert", "--on", "virtual"])
    captured = capsys.readouterr()
    return status, " ".join((captured.out + captured.err).split())


def contents(device, tmp_path):
    """Files of the folder by their names."""
    found = {}
    for entry in device.list(ROOT):
        if entry.name not in (".", ".."):
            device.receive(f"{ROOT}/{entry.name}", tmp_path / "received", 1 << 20)
            found[entry.name] = (tmp_path / "received").read_text()
    return found


def test_quadra_is_put_beside_litert_updated_and_taken_away(device, made, tmp_path, capsys):
    before = contents(device, tmp_path)
    assert inv(capsys, "install") == (0, f"{device.serial} {ROOT}: LiteRT's programs load Quadra now")
    there = contents(device, tmp_path)
    assert there.pop(DELEGATE) == f"{DELEGATE} 1 for x86_64" and there.pop(ACCELERATOR) == f"{ACCELERATOR} 1 for x86_64"
    assert there.pop(LIST).count("\n") == 2 and there == before, "LiteRT's own files are as they were"
    assert "Quadra was there already" in inv(capsys, "install")[1]
    made("2")
    assert "load Quadra now" in inv(capsys, "install")[1]
    assert contents(device, tmp_path)[DELEGATE] == f"{DELEGATE} 2 for x86_64"
    assert inv(capsys, "uninstall") == (0, f"{device.serial} {ROOT}: LiteRT's programs are without Quadra again")
    assert contents(device, tmp_path) == before
    assert "without Quadra already" in inv(capsys, "uninstall")[1]


def test_what_was_left_half_done_is_known_as_quadras(device, made, tmp_path, capsys, monkeypatch):
    inv(capsys, "install")
    before = {name for name in contents(device, tmp_path) if name not in (DELEGATE, ACCELERATOR, LIST)}
    made("2")
    copy = beside_litert._copy

    def interrupted(device, source, target, *rest):
        if target.endswith(ACCELERATOR):
            raise KeyboardInterrupt
        copy(device, source, target, *rest)

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(beside_litert, "_copy", interrupted)
        inv(capsys, "install")
    assert contents(device, tmp_path)[ACCELERATOR] == f"{ACCELERATOR} 1 for x86_64"
    assert "again" in inv(capsys, "uninstall")[1] and set(contents(device, tmp_path)) == before


@pytest.mark.parametrize("name", [DELEGATE, ACCELERATOR])
def test_a_file_that_is_not_quadras_stays(device, made, tmp_path, capsys, name):
    (tmp_path / "foreign").write_text("another accelerator")
    device.send(tmp_path / "foreign", f"{ROOT}/{name}")
    before = contents(device, tmp_path)
    status, said = inv(capsys, "install")
    assert (
        status == DeviceRefused.exit_code
        and f"{name} is there already, and is not Quadra's next: move it elsewhere" in said
    )
    assert "already" in inv(capsys, "uninstall")[1] and contents(device, tmp_path) == before


def test_where_there_is_no_litert_nothing_is_built_or_put(device, monkeypatch, capsys):
    for name in ("android", "android_accelerator"):
        monkeypatch.setattr(artifacts, name, lambda abi: pytest.fail("a build takes minutes"))
    status, said = inv(capsys, "install", "--folder=/data/local/tmp/elsewhere")
    assert status == DeviceRefused.exit_code and "`litert run MODEL --android --gpu`; or name its folder" in said
    assert device.stat("/data/local/tmp/elsewhere") is None
    for folder in ("/sdcard/x", "/data/local/tmp/../x", "/data/local/tmp/a b"):
        status, said = inv(capsys, "install", f"--folder={folder}")
        assert status == Misuse.exit_code and "no folder that a shell may write to" in said
    assert (
        command_line.main(["install", "--folder=x"]) == Misuse.exit_code and "add --litert" in capsys.readouterr().err
    )


def test_a_copy_that_is_damaged_takes_no_name(device, made, tmp_path, monkeypatch):
    (tmp_path / "whole").write_text("whole")
    (tmp_path / "damaged").write_text("damaged")
    device.send(tmp_path / "damaged", f"{transfer.STORE}/damaged")
    digest = hashlib.sha256(b"whole").hexdigest()
    with pytest.raises(TransferFailed, match="another SHA-256 than the file that was sent"):
        beside_litert._copy(device, f"{transfer.STORE}/damaged", f"{ROOT}/{DELEGATE}", digest, "copy it")
    assert set(contents(device, tmp_path)) == {"libLiteRt.so", "run_model", THEIRS}
