"""The virtual device's package manager: real APKs are read, and refused with a phone's codes."""

import shutil
import zipfile

import pytest

from host_tools.base.errors import ToolMissing
from host_tools.build import apk_facts, maven
from host_tools.virtual_device.device import VirtualDevice
from tests import android_parts, small_apk
from tests.host_tools.virtual_device.test_virtual_adb import Adb
from tests.virtual import ask

NAME = "org.example.app"
LIBRARIES = {"classes.dex": small_apk.DEX, "lib/x86_64/libone.so": small_apk.library()}


@pytest.fixture(scope="module", autouse=True)
def framework():
    android_parts.need_classes()
    maven.artifact("android-all")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return [small_apk.new_key(folder, name) for name in ("first", "second")]


@pytest.fixture(scope="module")
def signed(keys, tmp_path_factory):
    """An APK with a library, truly signed."""
    return small_apk.make(tmp_path_factory.mktemp("apk") / "signed.apk", files=LIBRARIES, key=keys[0])


@pytest.fixture
def device(tmp_path):
    return VirtualDevice(tmp_path / "root")  # never started: commands need no adb


@pytest.fixture
def trusted(monkeypatch):
    """Signatures are not looked at, which takes a second each; set signer to be somebody else."""
    said = {"signer": "aa" * 32}
    monkeypatch.setattr(
        apk_facts, "signature", lambda *_: apk_facts.Signature(True, ("v2", "v3"), "CN=somebody", said["signer"], "")
    )
    return said


def put(device, apk, name="one.apk"):
    place = device.root / "data/local/tmp" / name
    shutil.copyfile(apk, place)
    place.chmod(0o644)
    return f"/data/local/tmp/{name}"


def install(device, apk, words="-r -t"):
    return ask(device, f"pm install {words} {put(device, apk)}")


def refused(device, apk, code, words="-r -t"):
    answer = install(device, apk, words)
    assert answer.status == 1 and answer.out.startswith(f"Failure [{code}"), answer
    assert not list((device.root / "data/app").glob("vmdl*")), "an install that failed leaves nothing"
    return answer.out


def test_a_signed_apk_is_installed_shown_and_removed(device, signed):
    assert install(device, signed).out == "Success\n"
    path = ask(device, f"pm path {NAME}").out.removeprefix("package:").strip()
    assert path.startswith("/data/app/~~") and path.endswith("/base.apk")
    assert (device.root / path.lstrip("/")).read_bytes() == signed.read_bytes()
    assert (device.root / path.lstrip("/")).parent.joinpath("lib/x86_64/libone.so").is_file()
    assert ask(device, f"pm list packages -f -U {NAME}").out == f"package:{path}={NAME} uid:10111\n"
    assert device.apps[NAME].instrumentations == [[f"{NAME}.Runner", NAME]]
    assert (device.apps[NAME].version_code, device.apps[NAME].abi) == (3, "x86_64")
    assert ask(device, f"run-as {NAME} pwd").out == f"/data/data/{NAME}\n"
    assert ask(device, f"pm uninstall {NAME}").out == "Success\n"
    assert ask(device, f"pm path {NAME}").status == 1
    assert ask(device, f"pm uninstall {NAME}").out == "Failure [not installed for 0]\n"
    assert not list((device.root / "data/app").iterdir()) and not list((device.root / "data/data").iterdir())


def test_after_the_end_of_its_process_nothing_is_installed_and_data_are_there(device, trusted, tmp_path):
    apk = small_apk.make(tmp_path / "app.apk", files=LIBRARIES)
    assert install(device, apk).status == 0
    ask(device, f"run-as {NAME} sh -c 'echo kept > files/a'")
    again = VirtualDevice(tmp_path / "root")
    assert ask(again, "pm list packages").out == "" and not list((again.root / "data/app").iterdir())
    assert install(again, apk).status == 0 and ask(again, f"run-as {NAME} cat files/a").out == "kept\n"


def test_every_changed_byte_and_every_missing_signature_is_found(device, signed, tmp_path):
    content = bytearray(signed.read_bytes())
    content[content.index(b"\x7fELF") + 30] ^= 1
    (tmp_path / "changed.apk").write_bytes(content)
    assert "digest mismatch" in refused(device, tmp_path / "changed.apk", "INSTALL_PARSE_FAILED_NO_CERTIFICATES")
    unsigned = small_apk.make(tmp_path / "unsigned.apk")
    refused(device, unsigned, "INSTALL_PARSE_FAILED_NO_CERTIFICATES")


def test_what_is_no_apk_is_refused(device, signed, tmp_path):
    broken = tmp_path / "broken.apk"
    for content in (b"", b"text", signed.read_bytes()[:-40], signed.read_bytes()[: len(signed.read_bytes()) // 2]):
        broken.write_bytes(content)
        refused(device, broken, "INSTALL_PARSE_FAILED_NOT_APK")
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("classes.dex", small_apk.DEX)
    refused(device, broken, "INSTALL_PARSE_FAILED_BAD_MANIFEST")
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("AndroidManifest.xml", "<manifest/>")
    refused(device, broken, "INSTALL_PARSE_FAILED_UNEXPECTED_EXCEPTION")


REFUSALS = [
    ("INSTALL_FAILED_OLDER_SDK", {"min_sdk": 35}, {}),
    ("INSTALL_FAILED_DEPRECATED_SDK_VERSION", {"min_sdk": 14, "target": 22}, {}),
    ("INSTALL_FAILED_NO_MATCHING_ABIS", {}, {"files": {**LIBRARIES, "lib/arm64-v8a/libtwo.so": b"x"}, "drop": "lib/x86_64/libone.so"}),
    ("INSTALL_FAILED_INVALID_APK", {}, {"files": LIBRARIES, "compressed": True}),
    ("INSTALL_FAILED_INVALID_APK", {}, {"files": LIBRARIES, "align": False}),
    ("INSTALL_FAILED_INVALID_APK", {}, {"files": {}}),
]  # fmt: skip


@pytest.mark.parametrize("code, says, has", REFUSALS)
def test_what_a_phone_would_not_take_is_refused_with_its_code(code, says, has, device, trusted, tmp_path):
    files = {k: v for k, v in has.get("files", {"classes.dex": small_apk.DEX}).items() if k != has.get("drop")}
    words = {key: value for key, value in has.items() if key in ("compressed", "align")}
    apk = small_apk.make(tmp_path / "app.apk", small_apk.manifest(**says), files=files, **words)
    refused(device, apk, code)
    assert ask(device, "pm list packages").out == ""


def test_test_only_wants_its_word(device, trusted, tmp_path):
    text = small_apk.manifest(application='android:testOnly="true" android:debuggable="true"')
    apk = small_apk.make(tmp_path / "test.apk", text)
    refused(device, apk, "INSTALL_FAILED_TEST_ONLY", words="")
    assert install(device, apk, "-t").status == 0


def test_updates_keep_the_data_and_are_by_the_same_signer_and_not_older(device, trusted, tmp_path):
    third, second = (
        small_apk.make(tmp_path / f"v{v}.apk", small_apk.manifest(version=v), files=LIBRARIES) for v in (3, 2)
    )
    assert install(device, third).status == 0
    ask(device, f"run-as {NAME} sh -c 'echo kept > files/a; echo old > code_cache/b'")
    first_path = ask(device, f"pm path {NAME}").out
    assert install(device, third).status == 0
    assert ask(device, f"pm path {NAME}").out != first_path
    assert ask(device, f"run-as {NAME} ls files code_cache").out.split() == ["files:", "a", "code_cache:"]
    assert ask(device, f"pm list packages -U {NAME}").out.endswith("uid:10111\n")
    refused(device, second, "INSTALL_FAILED_VERSION_DOWNGRADE")
    trusted["signer"] = "bb" * 32
    assert "signatures do not match" in refused(device, third, "INSTALL_FAILED_UPDATE_INCOMPATIBLE")
    trusted["signer"] = "aa" * 32
    assert install(device, second, "-r -d").status == 0
    assert ask(device, f"pm clear {NAME}").out == "Success\n"
    assert ask(device, f"run-as {NAME} ls files").out == ""


def test_run_as_is_for_debuggable_packages(device, trusted, tmp_path):
    apk = small_apk.make(tmp_path / "app.apk", small_apk.manifest(application='android:debuggable="false"'))
    assert install(device, apk).status == 0
    answer = ask(device, f"run-as {NAME} ls")
    assert answer.status == 1 and answer.err == f"run-as: package not debuggable: {NAME}\n"
    assert ask(device, "run-as org.nobody ls").err == "run-as: unknown package: org.nobody\n"


def test_an_apk_comes_over_the_stream(device, trusted, tmp_path):
    apk = small_apk.make(tmp_path / "app.apk", files=LIBRARIES)
    content = apk.read_bytes()
    size = len(content)
    assert ask(device, f"cmd package install -r -t -S {size}", content).out == "Success\n"
    short = ask(device, f"cmd package install -S {size}", content[:-1])
    assert short.status == 1 and short.err == f"Error: Expected {size} bytes, {size - 1} came\n"
    assert ask(device, "cmd package install -S many", content).status == 1
    assert ask(device, f"pm install {tmp_path}/nowhere.apk").err.startswith("Error: Unable to open file: ")
    assert not list((device.root / "data/app").glob("vmdl*"))


@pytest.mark.parametrize("fault, text", [
    ("install:full", "Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE: "),
    ("install:refuse", "Failure [INSTALL_FAILED_USER_RESTRICTED: Install canceled by user]"),
])  # fmt: skip
def test_a_planted_fault_refuses_and_leaves_nothing(fault, text, device, trusted, tmp_path):
    apk = small_apk.make(tmp_path / "app.apk")
    device.faults.add(fault)
    answer = install(device, apk)
    assert answer.status == 1 and answer.out.startswith(text)
    device.faults.clear()
    assert not list((device.root / "data/app").iterdir()) and install(device, apk).status == 0


def test_without_apksigner_nothing_is_installed(device, signed, monkeypatch):
    def absent(*_):
        raise ToolMissing("run `apksigner`", "it is not here", "apt-get install apksigner")

    monkeypatch.setattr(apk_facts, "signature", absent)
    assert "apt-get install apksigner" in refused(device, signed, "INSTALL_FAILED_INTERNAL_ERROR")


def test_a_damaged_manifest_never_does_more_than_be_refused(device, signed, trusted, tmp_path):
    with zipfile.ZipFile(signed) as archive:
        content = archive.read("AndroidManifest.xml")
    assert apk_facts.manifest(signed).text("package") == NAME
    for i in range(0, len(content), 61):
        for n, piece in enumerate((content[:i] + bytes([content[i] ^ 0xFF]) + content[i + 1 :], content[:i])):
            broken = tmp_path / f"{i}-{n}.apk"
            with zipfile.ZipFile(broken, "w") as archive:
                archive.writestr("AndroidManifest.xml", piece)
            answer = install(device, broken)
            assert answer.out.startswith(("Failure [INSTALL_", "Success")), answer


def test_the_real_adb_installs_and_removes(signed, tmp_path):
    adb = Adb(tmp_path)
    with VirtualDevice(tmp_path / "root") as one:
        try:
            adb("connect", one.serial)
            done = adb("-s", one.serial, "install", "-r", "-t", signed)
            assert done.returncode == 0 and b"Success" in done.stdout, done
            (tmp_path / "broken.apk").write_bytes(signed.read_bytes()[:-100])
            done = adb("-s", one.serial, "install", "-r", tmp_path / "broken.apk")
            assert done.returncode == 1 and b"INSTALL_PARSE_FAILED_NOT_APK" in done.stdout + done.stderr, done
            assert adb("-s", one.serial, "uninstall", NAME).stdout == b"Success\n"
        finally:
            adb("kill-server")
