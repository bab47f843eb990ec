"""What a device says is read only in its own form: names, properties, digests, the list of devices."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from host_tools.base.errors import (
    AppMissing,
    DeviceFull,
    DeviceNotFound,
    DeviceRefused,
    DeviceUnusable,
    ReplyNotUnderstood,
)
from host_tools.phone.adb import adb_errors, choice, lock, tool_texts
from host_tools.phone.files import safe_names

HOSTILE = [
    "", ".", "..", "./x", "x/", "/", "../x", "a/../../x", "/etc/passwd", "//x", "a//b", "a\\b",
    "a\0b", "a\nb", "-rf", "~root", "a/-x",
    " a", "a ", "x" * 201, "a/" * 17 + "b", "\udc80", "a\u202eb", "a\ufffd", "\x1b[2J", "a/./b", "CON/../..", "a\x7f",
]  # fmt: skip


@pytest.mark.parametrize("given_name", HOSTILE, ids=ascii)
def test_a_hostile_path_is_refused(given_name):
    with pytest.raises(ReplyNotUnderstood, match="nothing was written"):
        safe_names.inside(Path("/runs/x"), given_name)


@pytest.mark.parametrize("good", ["a.npy", "outputs/000.npy", "partition_0/kernels", "ß é.txt"])
def test_an_ordinary_path_is_taken_as_it_is(good):
    assert safe_names.inside(Path("/runs/x"), good) == Path("/runs/x") / good


@given(st.text(st.characters(codec=None), max_size=60) | st.sampled_from(HOSTILE))
def test_a_path_is_refused_or_stays_inside(text):
    folder = Path(tempfile.gettempdir())
    try:
        path = safe_names.inside(folder, text)
    except ReplyNotUnderstood:
        return
    assert path != folder and Path(os.path.normpath(path)).is_relative_to(folder)
    assert str(path) == os.path.normpath(path)


def test_the_part_below_a_folder_is_taken_as_it_is_or_refused():
    assert safe_names.below("/data/x/", "/data/x/a/b") == "a/b"
    for other in ("/data/xy/a", "/data/x", "/data/x/", "a", "/data/../data/x/a"):
        with pytest.raises(ReplyNotUnderstood, match="not below"):
            safe_names.below("/data/x", other)


@pytest.mark.parametrize(("file", "suffix"), [("m.tflite", ".tflite"), ("m.TFLITE", ".tflite"), ("m", ""),
                                              ("m.a b", ""), ("m.$(id)", ""), ("m.;x", "")])  # fmt: skip
def test_only_an_ordinary_ending_goes_into_a_name_on_the_device(file, suffix):
    assert safe_names.suffix(Path(file)) == suffix


def test_properties_are_read_in_getprops_form_and_values_may_have_several_lines():
    text = "[ro.product.model]: [Pixel 8]\n[ro.two]: [first\nsecond]\r\n[empty]: []\nnot a property\n[x]: [a]: [b]\n"
    expected = {"ro.product.model": "Pixel 8", "ro.two": "first\nsecond", "empty": "", "x": "a]: [b"}
    assert tool_texts.parse(text) == expected


@given(st.text(max_size=200))
def test_any_text_is_properties_or_none(text):
    assert all(isinstance(value, str) for value in tool_texts.parse(text).values())


def test_digests_are_taken_only_of_what_was_asked_for_and_only_once():
    one, other = "a" * 64, "b" * 64
    text = f"{one}  /x\n{other}  /y\n{one}  /z\n{other}  /z\nsha256sum: /w: No such file or directory\n{one[:-1]}  /v\n"
    assert tool_texts.digests(text, ["/x", "/z", "/w", "/v"]) == {"/x": one}


# As adb 36 prints them (`adb devices -l`).
LISTED = """\
0A1B2C3D4E             device usb:1-4 product:husky model:Pixel_8_Pro device:husky transport_id:3
127.0.0.1:41234        device product:virtual model:Virtual_device device:virtual transport_id:1
emulator-5554          offline transport_id:4
R58M123ABC             unauthorized usb:1-2 transport_id:7
adb-R3CN-aBc (2)._adb-tls-connect._tcp device product:x model:Wireless transport_id:9
XYZ                    no permissions (missing udev rules? user is in the plugdev group) usb:1-1 transport_id:2
"""


def test_the_list_of_devices_is_read_as_adb_prints_it():
    assert [(one.serial, one.state, one.model) for one in choice.parse(LISTED)] == [
        ("0A1B2C3D4E", "device", "Pixel_8_Pro"),
        ("127.0.0.1:41234", "device", "Virtual_device"),
        ("emulator-5554", "offline", ""),
        ("R58M123ABC", "unauthorized", ""),
        ("adb-R3CN-aBc (2)._adb-tls-connect._tcp", "device", "Wireless"),
        ("XYZ", "no permissions", ""),
    ]


@given(st.text(max_size=200))
def test_any_list_of_devices_gives_serials_that_are_safe_in_a_request(text):
    for one in choice.parse(text):
        assert one.serial.isascii() and one.serial.isprintable() and one.state.isprintable()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("device 'X' not found", DeviceNotFound),
        ("device offline", DeviceUnusable),
        ("device still authorizing", DeviceUnusable),
        ("device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set", DeviceUnusable),
        ("failed to authenticate to 127.0.0.1:5298", DeviceUnusable),
        ("failed to connect to '127.0.0.1:5297': Connection refused", DeviceNotFound),
        ("failed to connect to 127.0.0.1:5297", DeviceUnusable),
        ("closed", DeviceRefused),
    ],
)
def test_the_words_of_adbs_server_have_their_error(said, kind):
    error = adb_errors.of_server(said, "look", "X", "stat")
    assert type(error) is kind and error.serial == "X" and error.step == "stat" and error.do_next


@pytest.mark.parametrize(
    ("said", "kind"),  # AOSP adb/daemon/file_sync_service.cpp and toybox
    [
        ("write failed: No space left on device", DeviceFull),
        ("couldn't create file: No space left on device", DeviceFull),
        ("mkdir: '/data/local/tmp/x': Disk quota exceeded", DeviceFull),
        ("couldn't create file: Read-only file system", DeviceRefused),
        ("secure_mkdirs failed: Permission denied", DeviceRefused),
        ("open failed: No such file or directory", DeviceRefused),
        ("read failed: Is a directory", DeviceRefused),
        ("remote something nobody has heard of", DeviceRefused),
    ],
)
def test_the_words_of_a_devices_files_have_their_error(said, kind):
    error = adb_errors.of_files(said, "send", "X", "send")
    assert type(error) is kind and said in error.came_back and error.do_next


@pytest.mark.parametrize(
    ("said", "kind"),  # AOSP run-as.cpp, of now and of Android 7
    [
        ("run-as: unknown package: org.quadra.runner", AppMissing),
        ("run-as: Package 'org.quadra.runner' is unknown", AppMissing),
        ("run-as: package not debuggable: org.quadra.runner", DeviceRefused),
        ("run-as: Package 'org.quadra.runner' is not debuggable", DeviceRefused),
        ("run-as: couldn't stat /data/user/0/org.quadra.runner: Permission denied", DeviceRefused),
        ("run-as: Could not set capabilities: Operation not permitted", DeviceRefused),
        ("find: files/x: No such file or directory", DeviceRefused),
        ("tar: write: No space left on device", DeviceFull),
    ],
)
def test_the_words_of_run_as_have_their_error(said, kind):
    assert type(adb_errors.of_run_as(said, "list", "X", "pull")) is kind


@given(st.text(max_size=400))
def test_a_devices_words_are_shown_as_one_harmless_line(text):
    shown = adb_errors.shown(text)
    assert shown.isprintable() and 0 < len(shown) <= 301


@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
def test_every_serial_has_a_file_of_its_own(one, other):
    made = lock.file_name(one)
    assert made.isascii() and "/" not in made and "." not in made
    assert (made == lock.file_name(other)) == (one == other)
