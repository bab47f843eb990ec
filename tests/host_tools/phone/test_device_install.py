"""The test app on a device: installed when another one is there, refusals told apart, success not believed."""

import hashlib

import pytest

from host_tools.base import errors
from host_tools.phone.app import install_app
from host_tools.phone.files import transfer
from tests.host_tools.phone.fake_device import FakeDevice

PATH = "package:/data/app/~~a1b2==/org.quadra.runner-c3d4==/base.apk\n"


@pytest.fixture
def apk(tmp_path):
    made = tmp_path / "quadra-runner.apk"
    made.write_bytes(b"an APK")
    return made


@pytest.fixture(autouse=True)
def pushed(monkeypatch):
    """Pushes that only write down what was pushed."""
    done = []

    def push(device, files, show=None):
        done.extend(files)
        remote = {file: f"/data/local/tmp/quadra/store/{transfer.sha256(file)}.apk" for file in files}
        return transfer.Pushed(device.serial, remote)

    monkeypatch.setattr(transfer, "push", push)
    return done


def device_with(digest, *, install="Success\n", after=None):
    """after: the digest once something was installed."""
    there = [digest]

    def installed(words):
        there[0] = after
        return install

    return FakeDevice(
        {
            "pm path": lambda words: PATH if there[0] else "!",
            "sha256sum": lambda words: f"{there[0]}  {words[1]}\n",
            "pm install": installed,
            "pm uninstall": "Success\n",
        }
    )


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_apk_that_is_there_is_not_installed_again(apk, pushed):
    device = device_with(digest_of(apk))
    assert not install_app.install(device, apk, lambda text: None) and not pushed
    assert not device.lines("pm install")


def test_another_apk_is_replaced_and_the_pushed_file_goes(apk, pushed):
    device = device_with("0" * 64, after=digest_of(apk))
    assert install_app.install(device, apk, lambda text: None) and pushed == [apk]
    remote = f"/data/local/tmp/quadra/store/{digest_of(apk)}.apk"
    assert device.lines("pm install") == [f"pm install -r -t {remote}"] and device.lines("rm") == [f"rm -f {remote}"]


def test_fresh_removes_what_is_there_first(apk):
    device = device_with(digest_of(apk), after=digest_of(apk))
    assert install_app.install(device, apk, lambda text: None, fresh=True)
    assert device.asked.index("pm uninstall org.quadra.runner") < device.asked.index(device.lines("pm install")[0])


@pytest.mark.parametrize(
    "said, kind, text",
    (
        ("Failure [INSTALL_FAILED_UPDATE_INCOMPATIBLE: Existing package signatures do not match]", errors.InstallRefused, "--fresh"),
        ("Failure [INSTALL_FAILED_VERSION_DOWNGRADE]", errors.InstallRefused, "--fresh"),
        ("Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE: Failed to override installation location]", errors.DeviceFull, "free space"),
        ("Failure [INSTALL_FAILED_NO_MATCHING_ABIS: Failed to extract native libraries, res=-113]", errors.InstallRefused, "--abi arm64-v8a"),
        ("Failure [INSTALL_FAILED_USER_RESTRICTED: Install canceled by user]", errors.InstallRefused, "Install via USB"),
        ("Failure [INSTALL_FAILED_TEST_ONLY: installPackageLI]", errors.InstallRefused, "INSTALL_FAILED_TEST_ONLY"),
        ("Failure [SOMETHING_NEW: of\nmany lines]", errors.InstallRefused, "SOMETHING_NEW: of many lines"),
        ("Failure", errors.InstallRefused, "without a reason"),
        ("Success\nFailure [INSTALL_FAILED_ABORTED: User rejected permissions]", errors.InstallRefused, "confirm"),
        ("Error: java.lang.NullPointerException", errors.InstallRefused, "NullPointerException"),
        ("", errors.ReplyNotUnderstood, "said nothing"),
    ),
)  # fmt: skip
def test_refusals_say_what_helps(said, kind, text, apk):
    device = device_with("", install=said)
    with pytest.raises(kind) as caught:
        install_app.install(device, apk, lambda text: None)
    assert type(caught.value) is kind and text in str(caught.value) and caught.value.step == "install"
    assert device.lines("rm -f")


@pytest.mark.parametrize("after", ("", "1" * 64))
def test_success_is_believed_when_the_apk_is_there(after, apk):
    with pytest.raises(errors.ReplyNotUnderstood, match="says Success, and (no|another) APK is there"):
        install_app.install(device_with("", after=after), apk, lambda text: None)


def test_what_pm_says_of_paths_is_checked():
    for said in (
        "package:/data/app/x; reboot/base.apk\n",
        "package:../../base.apk\n",
        PATH + PATH.replace("base", "split"),
    ):
        device = FakeDevice({"pm path": said, "sha256sum": "0" * 64 + "  x"})
        assert install_app.installed_digest(device) == "" and not device.lines("sha256sum")


def test_a_device_without_an_abi_of_ours_is_unusable(monkeypatch):
    assert install_app.abi_of(FakeDevice({})) == "arm64-v8a"
    device = FakeDevice({})
    monkeypatch.setattr(device, "properties", lambda: {"ro.product.cpu.abilist": "riscv64"})
    with pytest.raises(errors.DeviceUnusable, match="its ABIs are riscv64"):
        install_app.abi_of(device)


def test_no_apk_is_misuse(tmp_path):
    with pytest.raises(errors.Misuse, match="there is no such file"):
        install_app.install(FakeDevice({}), tmp_path / "no.apk", lambda text: None)


def test_an_app_that_cannot_be_removed_is_named():
    assert install_app.uninstall(FakeDevice({"pm uninstall": "Success\n"}))
    assert not install_app.uninstall(FakeDevice({"pm uninstall": "Failure [DELETE_FAILED_INTERNAL_ERROR]\n"}))
    with pytest.raises(errors.InstallRefused, match="DELETE_FAILED_DEVICE_POLICY_MANAGER"):
        install_app.uninstall(
            FakeDevice({"pm uninstall": "Failure [DELETE_FAILED_DEVICE_POLICY_MANAGER]\n", "pm path": PATH})
        )
