"""A tar of a device: what was announced arrives whole; whatever else it holds, nothing is written outside the folder."""

import hashlib
import io
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from host_tools.base.errors import FolderNotWritable, QuadraError, ReplyNotUnderstood, TransferFailed
from host_tools.phone.files import unpack as unpack_module
from host_tools.phone.files.unpack import BLOCK, Limits, Unpacker

FILES = {"status.json": b"{}", "outputs/000.npy": bytes(range(256)) * 9, "empty": b"", "p" * 90 + "/" + "n" * 90: b"x"}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tar(files: dict[str, bytes], tar_format=tarfile.GNU_FORMAT, **fields) -> bytes:
    """As toybox makes it: GNU's long names."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tar_format) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in fields.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def unpack(
    folder: Path, data: bytes, wanted: dict[str, bytes], limits: Limits = Limits(), piece: int = 1 << 16
) -> Unpacker:
    unpacker = Unpacker(folder, {name: digest(content) for name, content in wanted.items()}, limits)
    try:
        for start in range(0, len(data), piece):
            unpacker.write(data[start : start + piece])
    finally:
        unpacker.close()
    return unpacker


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("piece", [1, 511, 512, 513, 1 << 16])
@pytest.mark.parametrize("tar_format", [tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_files_arrive_whole_however_the_stream_is_cut(tmp_path, piece, tar_format):
    unpacker = unpack(tmp_path, tar(FILES, tar_format), FILES, piece=piece)
    assert contents(tmp_path) == FILES
    assert unpacker.bytes_done == sum(map(len, FILES.values()))


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out", "outputs//x", "-x", "a\nb", "a\\b"])
def test_a_name_that_leads_elsewhere_is_refused_even_if_it_was_asked_for(tmp_path, name):
    folder = tmp_path / "in" / "side"
    folder.mkdir(parents=True)
    with pytest.raises(ReplyNotUnderstood):
        unpack(folder, tar({name: b"evil"}), {name: b"evil"})
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, b"x", b"g", b"S"]
)
def test_links_devices_and_extensions_are_refused(tmp_path, kind):
    with pytest.raises(ReplyNotUnderstood, match="neither a file nor a folder"):
        unpack(tmp_path, tar({"a": b""}, type=kind, linkname="/etc/passwd"), {"a": b""})
    assert contents(tmp_path) == {}


def test_a_link_in_the_way_is_not_followed(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (inside / "outputs").symlink_to(outside)
    with pytest.raises(FolderNotWritable, match="link"):
        unpack(inside, tar(FILES), FILES)
    assert contents(outside) == {}


def test_a_file_that_was_not_announced_or_comes_twice_is_refused(tmp_path):
    with pytest.raises(ReplyNotUnderstood, match="not asked for"):
        unpack(tmp_path, tar({"b": b"1"}), {"a": b"1"})
    with pytest.raises(ReplyNotUnderstood, match="twice"):
        unpack(tmp_path, tar({"a": b"1"})[: 2 * BLOCK] + tar({"a": b"1"}), {"a": b"1"})


def test_another_content_is_told_and_not_kept(tmp_path):
    with pytest.raises(TransferFailed, match="another SHA-256"):
        unpack(tmp_path, tar({"a": b"1"}), {"a": b"2"})
    assert contents(tmp_path) == {}


def test_what_is_too_large_is_refused_before_it_is_written(tmp_path):
    with pytest.raises(ReplyNotUnderstood, match="more than is allowed"):
        unpack(tmp_path, tar({"a": b"12345"}), {"a": b"12345"}, Limits(file_bytes=4))
    with pytest.raises(ReplyNotUnderstood, match="more than is allowed"):
        unpack(tmp_path, tar({"a": b"123", "b": b"123"}), {"a": b"123", "b": b"123"}, Limits(total_bytes=4))
    assert contents(tmp_path) == {"a": b"123"}


def test_a_stream_that_is_cut_leaves_whole_files_only(tmp_path):
    whole = tar(FILES)
    for cut in range(0, len(whole), 97):
        unpacker = unpack(tmp_path, whole[:cut], FILES)
        found = contents(tmp_path)
        assert all(found[name] == FILES[name] for name in found) and len(found) == len(unpacker.done)
        for path in unpacker.done:
            path.unlink()


def header(name: str, size: int, kind: bytes) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("size", [1 << 40, 1 << 70, -1, -(1 << 60)])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_no_size_that_a_header_claims_is_believed(tmp_path, size, kind):
    with pytest.raises(ReplyNotUnderstood):
        unpack(tmp_path, header("a", size, kind) + bytes(20 * BLOCK), {"a": b""})
    assert contents(tmp_path) == {}


def test_names_without_end_and_folders_without_number_are_refused(tmp_path):
    with pytest.raises(ReplyNotUnderstood, match="a name of 4097 bytes"):
        unpack(tmp_path, header("././@LongLink", 4097, tarfile.GNUTYPE_LONGNAME) + b"n" * 9 * BLOCK, FILES)
    with pytest.raises(ReplyNotUnderstood):
        unpack(
            tmp_path, (header("././@LongLink", 2, tarfile.GNUTYPE_LONGNAME) + b"n\0".ljust(BLOCK, b"\0")) * 5000, FILES
        )
    with pytest.raises(ReplyNotUnderstood, match="more than 9 files and folders"):
        unpack(tmp_path, b"".join(header(f"d{i}", 0, tarfile.DIRTYPE) for i in range(100)), FILES, Limits(files=4))
    assert contents(tmp_path) == {}


def test_what_is_wrong_ends_the_transfer_at_once(tmp_path):
    unpacker = Unpacker(tmp_path, {"a": digest(b"1")}, Limits())
    with pytest.raises(ReplyNotUnderstood, match="not asked for"):
        for _ in range(1000):  # nobody reads on, so the pipe would be full
            unpacker.write(tar({"b": b"1"}))
    unpacker.close()
    assert unpacker.done == []


def test_a_full_disk_is_told_and_leaves_no_part(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(unpack_module.shutil, "copyfileobj", full)
    with pytest.raises(FolderNotWritable, match="the disk is full"):
        unpack(tmp_path, tar({"a": b"1"}), {"a": b"1"})
    assert contents(tmp_path) == {}


@given(st.data())
def test_a_damaged_tar_writes_only_what_was_announced(data):
    stream = bytearray(tar(FILES))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, min(len(stream), 6 * BLOCK) - 1))
        stream[at] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer) / "run"
        folder.mkdir()
        try:
            unpack(folder, bytes(stream), FILES)
        except QuadraError:
            pass
        assert all(FILES[name.removeprefix("run/")] == content for name, content in contents(Path(outer)).items())


@given(st.binary(max_size=2000))
def test_any_bytes_are_refused_or_nothing(data):
    with tempfile.TemporaryDirectory() as folder:
        try:
            assert not unpack(Path(folder), data, FILES).done
        except QuadraError:
            pass
        assert contents(Path(folder)) == {}
