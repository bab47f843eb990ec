"""Why a run on a device ended: each cause has its own error class and exit code, whatever `am` says."""

import pytest

from host_tools.base import errors
from host_tools.phone.app import am_instrument, app_log, crash
from host_tools.phone.app.start_app import AppStarter
from tests.host_tools.phone.fake_device import FakeDevice
from tests.host_tools.phone.test_device_readiness import LOG

PACKAGE = "org.quadra.runner"
EXIT_INFO = """\
ACTIVITY MANAGER PROCESS EXIT INFO (dumpsys activity exit-info)
Last Timestamp of Persistence Into Persistent Storage: 2026-11-21 21:59:00.000
  package: org.quadra.runner
    Historical Process Exit for uid=10123
        ApplicationExitInfo #0:
          timestamp=2026-11-21 22:00:01.001 pid={pid} realUid=10123 packageUid=10123 definingUid=10123 user=0
          process=org.quadra.runner reason={reason} ({word}) subreason=0 (UNKNOWN) status={status}
          importance=100 pss=0.00 rss=120MB description={description} state=empty trace=null
        ApplicationExitInfo #1:
          timestamp=2026-11-20 10:00:00.000 pid=1 realUid=10123 packageUid=10123 definingUid=10123 user=0
          process=org.quadra.runner reason=10 (USER REQUESTED) subreason=0 (UNKNOWN) status=0
          importance=100 pss=0.00 rss=0.00 description=null state=empty trace=null
"""
BEGAN = "INSTRUMENTATION_STATUS: stage=measure\nINSTRUMENTATION_STATUS_CODE: 0\n"
CRASHED = BEGAN + "INSTRUMENTATION_RESULT: shortMsg=Process crashed.\nINSTRUMENTATION_CODE: 0\n"
BOOT = "0a1b2c3d-0000-4000-8000-00000000000{}\n"


def exit_info(reason, status=0, word="X", description="null", pid=4321):
    return EXIT_INFO.format(pid=pid, reason=reason, status=status, word=word, description=description)


def run(said, *, exits="", logged="", installed=True, boot_after=1, before=""):
    """What an AppStarter makes of an app that printed `said`."""
    state = {"boot": 1, "exits": before}
    device = FakeDevice({"pm list": f"package:{PACKAGE} uid:10123\n", "date": "11-21 22:00:00.000\n"})

    def instrument_(words):
        state.update(boot=boot_after, exits=exits or before)
        if isinstance(said, Exception):
            raise said
        return said

    device.answers.update(
        {
            "am instrument": instrument_,
            "cat /proc/sys/kernel/random/boot_id": lambda words: BOOT.format(state["boot"]),
            "dumpsys activity exit-info": lambda words: state["exits"],
            "logcat": logged,
            "pm path": f"package:/data/app/x/{PACKAGE}-1/base.apk\n" if installed else "!",
        }
    )
    stages = []
    finished = AppStarter(device, 30.0).start({"folder": "/x"}, stages.append)
    finished.asked = device.asked
    return finished


JAVA_LOG = "11-21 22:00:01.000 10123:  4321  4345 E AndroidRuntime: FATAL EXCEPTION: main\n"
CASES = {
    "java crash": ({"said": CRASHED, "logged": JAVA_LOG}, errors.AppCrashed, 92, "FATAL EXCEPTION"),
    "java crash by the system's book": ({"said": CRASHED, "exits": exit_info(4)}, errors.AppCrashed, 92, "crashed at the stage 'measure'"),
    "tombstone in the log": ({"said": CRASHED, "logged": LOG}, errors.AppCrashedNatively, 96, r"signal 11 \(SIGSEGV\)"),
    "tombstone by the system's book": ({"said": CRASHED, "exits": exit_info(5, 11)}, errors.AppCrashedNatively, 96, "signal 11 at the stage"),
    "native crash by am": (
        {"said": BEGAN + "INSTRUMENTATION_RESULT: shortMsg=Native crash\nINSTRUMENTATION_CODE: 0\n"},
        errors.AppCrashedNatively, 96, "a signal at the stage 'measure'",
    ),
    "ANR": (
        {"said": BEGAN + "INSTRUMENTATION_RESULT: shortMsg=keyDispatchingTimedOut\nINSTRUMENTATION_CODE: 0\n"},
        errors.AppNotResponding, 93, "did not answer",
    ),
    "ANR by the system's book": ({"said": CRASHED, "exits": exit_info(6)}, errors.AppNotResponding, 93, "did not answer"),
    "killed": ({"said": CRASHED, "exits": exit_info(2, 9)}, errors.AppCrashed, 92, "it was killed at the stage"),
    "low memory": ({"said": CRASHED, "exits": exit_info(3)}, errors.AppCrashed, 92, "to get memory back"),
    "stopped by somebody": ({"said": CRASHED, "exits": exit_info(10)}, errors.AppCrashed, 92, "somebody stopped the app"),
    "stopped by the system after it crashed": (
        {"said": CRASHED, "exits": exit_info(10, description="stop org.quadra.runner due to finished inst"), "logged": LOG},
        errors.AppCrashedNatively, 96, r"signal 11 \(SIGSEGV\)",
    ),
    "a crash that the system's book does not know": (
        {"said": CRASHED, "exits": exit_info(10, description="stop org.quadra.runner due to finished inst"), "logged": JAVA_LOG},
        errors.AppCrashed, 92, "FATAL EXCEPTION",
    ),
    "uninstalled": ({"said": CRASHED, "installed": False}, errors.AppMissing, 91, "not installed any more; it was at the stage 'measure'"),
    "never installed": (
        {"said": "INSTRUMENTATION_FAILED: org.quadra.runner/.QuadraRunner\n", "installed": False},
        errors.AppMissing, 91, "is not installed",
    ),
    "another app of the name": ({"said": "INSTRUMENTATION_FAILED: x\n"}, errors.AppMissing, 91, "INSTRUMENTATION_FAILED"),
    "rebooted": ({"said": CRASHED, "boot_after": 2}, errors.DeviceRebooted, 95, "rebooted meanwhile"),
    "rebooted and back before we asked": (
        {"said": errors.ReplyNotUnderstood("run", "the answer ended early"), "boot_after": 2},
        errors.DeviceRebooted, 95, "rebooted meanwhile",
    ),
    "android went down": ({"said": BEGAN + "INSTRUMENTATION_ABORTED: System has crashed.\n"}, errors.DeviceRebooted, 95, "Android itself"),
    "unplugged and back": ({"said": errors.DeviceLost("run", "the connection broke")}, errors.DeviceLost, 85, "broke"),
    "refused": ({"said": "java.lang.SecurityException: Permission Denial\n"}, errors.DeviceRefused, 88, "Permission Denial"),
    "nothing": ({"said": ""}, errors.ReplyNotUnderstood, 89, "before its first stage"),
    "cut off": ({"said": BEGAN}, errors.ReplyNotUnderstood, 89, "ended at the stage 'measure' without saying how"),
    "late": ({"said": errors.DeviceTimedOut("run", "late")}, errors.DeviceTimedOut, 84, "did not end within 30 s"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_end_has_its_own_error(case):
    given, kind, code, text = CASES[case]
    finished = run(**given)
    assert type(finished.error) is kind and finished.error.exit_code == code
    with pytest.raises(kind, match=text):
        raise finished.error
    assert finished.error.serial == "fake:1" or not case.startswith(("java", "tomb"))


def test_an_end_that_was_known_before_is_no_evidence():
    old = exit_info(5, 11)
    assert type(run(said=CRASHED, before=old).error) is errors.AppCrashed
    assert type(run(said=CRASHED, before=old, exits=exit_info(6, pid=5000)).error) is errors.AppNotResponding


def test_boots_are_told_apart_where_the_kernels_number_may_not_be_read():
    device = FakeDevice({"cat": "!cat: boot_id: Permission denied", "settings get global boot_count": "41\n"})
    assert crash.boot_id(device) == "41"
    assert crash.boot_id(FakeDevice({"settings": "null\n"})) == ""


def test_an_app_that_is_late_is_stopped():
    assert "am force-stop org.quadra.runner" in run(said=errors.DeviceTimedOut("run", "late")).asked


def test_a_device_that_is_gone_is_not_asked_for_long():
    finished = FakeDevice({})
    runner = AppStarter(finished, 1.0)
    finished.answers = {"": errors.DeviceLost("run", "unplugged")}
    finished.asked.clear()
    assert type(runner.start({}, lambda stage: None).error) is errors.DeviceLost
    assert len(finished.asked) <= 3


def test_a_device_that_goes_right_after_the_app_ended_is_the_error():
    device = FakeDevice({"am instrument": CRASHED})
    runner = AppStarter(device, 30.0)
    device.answers.update(
        {key: errors.DeviceNotFound("ask", "not found") for key in ("cat", "logcat", "pm", "dumpsys")}
    )
    assert type(runner.start({}, lambda stage: None).error) is errors.DeviceNotFound
    device.answers.update({"cat": BOOT.format(1), "pm": "package:/data/app/x/base.apk", "dumpsys": ""})
    assert type(runner.start({}, lambda stage: None).error) is errors.AppCrashed, "without a log, too"


def test_what_the_app_said_comes_from_its_log_and_without_one_from_its_statuses():
    assert run(said=BEGAN + "INSTRUMENTATION_CODE: -1\n", logged=LOG).said[0] == "stage: start"
    finished = run(said=BEGAN + "INSTRUMENTATION_CODE: -1\n")
    assert finished.said == ["stage: measure"] and finished.error is None
    assert finished.outcome.kind == am_instrument.COMPLETE and isinstance(finished.lines, list)


def test_exit_info_of_every_shape_is_read_or_left():
    (first, second) = crash.exits(exit_info(5, 11, description="crash of native code"))
    assert (first.word, first.status, first.description) == (
        "native",
        11,
        "crash of native code",
    ) and second.word == "stopped"
    for text in (
        "",
        "Can't find service: activity",
        "ApplicationExitInfo #0:",
        "ApplicationExitInfo #0: pid=x reason=y",
    ):
        assert crash.exits(text) == ()
    assert app_log.tombstone([]) == []
