"""The commands that the toolkit sends to a device: one of each shape, and how the virtual device answers it.

The fixture `adb` compares with this table what the toolkit sends in the tests that have it; test_virtual_sent.py asks
the virtual device for every row.
"""

import re
import shlex

PACKAGE = "org.quadra.runner"
RUN_AS = f"run-as {PACKAGE}"
TMP = "/data/local/tmp"
STORE = f"{TMP}/quadra/store"

# Command, exit status, what it prints: as the toolkit needs it, in an order in which each succeeds that can.
SENT: list[tuple[str, int, str]] = [
    ("getprop", 0, r"(.*\n)*\[ro\.build\.version\.sdk\]: \[34\]\n(.*\n)*"),
    ("true", 0, ""),
    ("date '+%m-%d %H:%M:%S.000'", 0, r"\d\d-\d\d \d\d:\d\d:\d\d\.000\n"),
    ("uname -r", 0, r"6\.1\S+\n"),
    ("getconf PAGE_SIZE", 0, "4096\n"),
    ("cat /proc/sys/kernel/random/boot_id", 0, r"[0-9a-f-]{36}\n"),
    (f"mkdir -p -m 755 {STORE}", 0, ""),
    (f"chmod 755 {TMP}/quadra {STORE}", 0, ""),
    (f"sha256sum {TMP}/pushed", 0, rf"[0-9a-f]{{64}}  {TMP}/pushed\n"),
    (f"mv -f {TMP}/pushed {STORE}/pushed", 0, ""),
    (f"{RUN_AS} mkdir -p files/quadra/runs/one/inputs", 0, ""),
    (f"{RUN_AS} cp {STORE}/pushed files/quadra/runs/one/spec.json", 0, ""),
    (f"{RUN_AS} ls files/quadra/runs", 0, "one\n"),
    (f"{RUN_AS} find files/quadra/runs -type f", 0, "files/quadra/runs/one/spec.json\n"),
    (f"{RUN_AS} tar -C files/quadra/runs -cf - one/spec.json", 0, r"one/spec\.json\0(.|\n)*"),
    (f"{RUN_AS} rm -rf files/quadra/runs/one", 0, ""),
    (f"rm -f {STORE}/.part-1", 0, ""),
    ("dumpsys thermalservice", 0, r"(.*\n)*Thermal Status: 0\n(.*\n)*"),
    ("dumpsys battery", 0, r"(.*\n)*  level: 87\n(.*\n)*"),
    ("dumpsys SurfaceFlinger", 20, ""),
    ("dumpsys power", 0, r"(.*\n)*  mWakefulness=Awake\n(.*\n)*"),
    ("settings get global stay_on_while_plugged_in", 0, "0\n"),
    ("svc power stayon true", 0, ""),
    ("input keyevent KEYCODE_WAKEUP", 0, ""),
    ("cmd power set-fixed-performance-mode-enabled true", 0, ""),
    ("settings put global stay_on_while_plugged_in 0", 0, ""),
    ("settings delete global stay_on_while_plugged_in", 0, "Deleted 1 rows\n"),
    (f"pm path {PACKAGE}", 0, r"package:/data/app/\S+/base\.apk\n"),
    (f"pm list packages -U --user 0 {PACKAGE}", 0, rf"package:{PACKAGE} uid:10111\n"),
    (f"am instrument -w -r --user 0 -e do go {PACKAGE}/.QuadraRunner", 0, r"(.*\n)*INSTRUMENTATION_CODE: -1\n"),
    (f"dumpsys activity exit-info {PACKAGE}", 0, r"(.*\n)*        ApplicationExitInfo #0:\n(.*\n)*"),
    ("logcat -d -b main,system,crash -v threadtime -v uid -T '01-01 00:00:00.000'", 0, r"(.*\n)*.* I System\.out: .*\n(.*\n)*"),
    ("logcat -d -b main,system,crash -v threadtime -v uid", 0, r"(.*\n)+"),
    ("logcat -d -t 50", 0, r"(.*\n)+"),
    (f"exec {STORE}/pushed --folder {TMP}", 126, ""),
    (f"exec pkill -f {TMP}/quadra/shell/one", 1, ""),
    (f"am force-stop {PACKAGE}", 0, ""),
    (f"pm install -r -t {STORE}/pushed", 1, r"Failure \[INSTALL_PARSE_FAILED_NOT_APK: .*\]\n"),
    (f"pm uninstall {PACKAGE}", 0, "Success\n"),
]  # fmt: skip
BY_TESTS = ("echo", "id", "sh -c", "sleep")  # tests of the transport itself send these
_WITH_A_VERB = ("am", "cmd", "dumpsys", "input", "pm", "settings", "svc")


def shape(line: str) -> str:
    """The command, its verb where it has one, and its options: without files, packages and numbers."""
    words = shlex.split(line)
    words = words[1:] if words[0] == "exec" else words
    words = words[2:] if words[0] == "run-as" else words
    if "/" in words[0]:
        return "a program"
    options = sorted({word for word in words[1:] if re.fullmatch(r"--?[A-Za-z]\w*", word)})
    return " ".join([*words[: 2 if words[0] in _WITH_A_VERB else 1], *options])
