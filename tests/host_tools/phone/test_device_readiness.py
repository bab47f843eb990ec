"""A device made ready and put back, how hot it is, and its log: against what phones print."""

import time

import pytest

from host_tools.base import interrupt
from host_tools.base.errors import DeviceLost, DeviceTooHot
from host_tools.phone.app import app_log
from host_tools.phone.state import readiness
from tests.host_tools.phone.fake_device import FakeDevice

THERMAL = """\
IsStatusOverride: false
ThermalEventListeners:
\tcallbacks: 2
\tkilled: false
\tbroadcasts count: -1
ThermalStatusListeners:
\tcallbacks: 1
\tkilled: false
\tbroadcasts count: -1
Thermal Status: {status}
Cached temperatures:
\tTemperature{{mValue=27.5, mType=3, mName=VIRTUAL-SKIN, mStatus=0}}
HAL Ready: true
HAL connection:
\tThermalHAL AIDL 2  connected: yes
Current temperatures from HAL:
\tTemperature{{mValue=41.0, mType=0, mName=BIG, mStatus=0}}
\tTemperature{{mValue=39.0, mType=0, mName=LITTLE, mStatus=0}}
\tTemperature{{mValue=38.2, mType=1, mName=G3D, mStatus=0}}
\tTemperature{{mValue=31.25, mType=3, mName=VIRTUAL-SKIN, mStatus=0}}
\tTemperature{{mValue=-273.0, mType=4, mName=usb, mStatus=0}}
\tTemperature{{mValue=NaN, mType=9, mName=TPU, mStatus=0}}
Current cooling devices from HAL:
\tCoolingDevice{{mValue=0, mType=3, mName=thermal-cpufreq-0}}
Temperature static thresholds from HAL:
\tTemperatureThreshold{{mType=3, mName=VIRTUAL-SKIN, mHotThrottlingThresholds=[NaN, 39.0, 43.0, 45.0, 46.5, 52.0, 55.0]}}
"""
BATTERY = """\
Current Battery Service state:
  AC powered: false
  USB powered: true
  Max charging current: 500000
  status: 2
  present: true
  level: 83
  scale: 100
  voltage: 4153
  temperature: 287
  technology: Li-ion
"""


def ready_device(**answers):
    return FakeDevice({"settings get": "0\n", "dumpsys power": "  mWakefulness=Asleep\n", **answers})


def hot_for(looks):
    left = [looks]

    def answer(words):
        left[0] -= 1
        return THERMAL.format(status=3 if left[0] >= 0 else 0)

    return FakeDevice({"dumpsys thermalservice": answer, "dumpsys battery": BATTERY})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_DEVICES_DIR", str(tmp_path / "devices"))
    return tmp_path / "devices"


def test_temperatures_are_read_from_the_sensors_themselves():
    found = readiness.parse_thermal(THERMAL.format(status=2))
    assert found.status == "moderate" and found.temperatures == {"cpu": 41.0, "gpu": 38.2, "skin": 31.2}
    assert readiness.parse_battery(BATTERY) == {"level": 83, "temperature": 28.7}


@pytest.mark.parametrize(
    "text, clocks",
    [
        ("1785600\n2016000\n864000\ngpu\n680000000\n", (2016, 680)),
        ("gpu\n848000\n", (None, 848)),
        ("1785600\ngpu\n555\n", (1785, 555)),
        ("gpu\nPermission denied\n-5\n999999999999999\n", (None, None)),
        ("", (None, None)),
    ],
)
def test_clocks_are_read_whatever_a_kernel_counts_in(text, clocks):
    assert readiness.parse_clocks(text) == clocks


def test_a_watch_reads_clocks_where_it_is_asked_to():
    device = FakeDevice({"dumpsys": "", "sh -c": "1785600\ngpu\n680000000\n"})
    for asked, clocks in ((True, (1785, 680)), (False, (None, None))):
        with readiness.Watch(device, clocks=asked) as watch:
            pass
        assert {(one.cpu_mhz, one.gpu_mhz) for one in watch.readings} == {clocks}


@pytest.mark.parametrize(
    "text", ("", "Can't find service: thermalservice\n", "Thermal Status: 9\n", "Thermal Status: x")
)
def test_a_device_that_does_not_say_is_neither_hot_nor_cold(text):
    found = readiness.look(FakeDevice({"dumpsys": text}))
    assert (found.status, found.temperatures, found.battery_percent) == ("unknown", {}, None)
    assert readiness.wait_until_cool(FakeDevice({"dumpsys": text}), lambda text: None) < 5


def test_it_waits_until_the_device_is_cool():
    said = []
    device = hot_for(2)
    readiness.wait_until_cool(device, said.append, wait_s=5, every_s=0.01)
    assert len(device.lines("dumpsys thermalservice")) == 3
    assert said[0] == "wait until it is cool: severe (battery 29 °C, cpu 41 °C, gpu 38 °C, skin 31 °C)"


def test_a_device_that_stays_hot_is_an_error_with_its_temperature():
    with pytest.raises(DeviceTooHot, match="status is still 'severe'.*gpu 38 °C") as caught:
        readiness.wait_until_cool(hot_for(1000), lambda text: None, wait_s=0.05, every_s=0.02)
    assert caught.value.exit_code == 94


def test_a_device_that_gets_no_cooler_than_light_is_measured():
    light = FakeDevice({"dumpsys": "Thermal Status: 1\n"})
    assert readiness.wait_until_cool(light, lambda text: None, wait_s=0.05, every_s=0.02) < 1
    assert len(light.lines("dumpsys thermalservice")) > 1


def test_a_watch_sees_what_happens_between_two_stages_and_only_those_count_that_are_measured():
    device = hot_for(2)
    with readiness.Watch(device, every_s=60) as watch:
        watch.at("start Quadra")
        for _ in range(200):
            if len(watch.readings) > 1:
                break
            time.sleep(0.01)
        assert [r.status for r in watch.readings] == ["severe", "severe"] and not watch.throttled()
        watch.at("measure")
        for _ in range(200):
            if len(watch.readings) > 2:
                break
            time.sleep(0.01)
    assert not watch.throttled() and watch.to_json()["before"] == "severe" and watch.to_json()["after"] == "none"
    with readiness.Watch(hot_for(1000)) as watch:
        watch.at("measure")
    assert watch.throttled().status == "severe" and watch.to_json()["throttled"]


def test_a_watch_survives_a_device_that_goes():
    with readiness.Watch(FakeDevice({"dumpsys": DeviceLost("look", "gone")})) as watch:
        watch.at("measure")
    assert watch.readings == [] and watch.to_json()["before"] == "unknown"


def test_what_was_changed_is_put_back_after_success_and_after_any_error():
    for error in (None, ValueError, KeyboardInterrupt):
        device = ready_device()
        try:
            with readiness.ready(device, lambda text: None):
                assert device.lines("svc power stayon true")
                if error:
                    raise error
        except (ValueError, KeyboardInterrupt):
            pass
        assert device.asked[-3:] == [
            "settings put global stay_on_while_plugged_in 0",
            "cmd power set-fixed-performance-mode-enabled false",
            "input keyevent KEYCODE_SLEEP",
        ]
        assert not readiness.put_right(device)


def test_a_setting_that_was_never_made_is_deleted_again_and_an_awake_device_stays_awake():
    device = ready_device(**{"settings get": "null\n", "dumpsys power": "  mWakefulness=Awake\n"})
    with readiness.ready(device, lambda text: None):
        pass
    assert device.asked[-2:] == [
        "settings delete global stay_on_while_plugged_in",
        "cmd power set-fixed-performance-mode-enabled false",
    ]


def test_a_maker_that_refuses_settings_to_the_shell_is_measured_all_the_same():
    refusal = "!java.lang.SecurityException: Permission denial"
    device = ready_device(**{"svc power": refusal, "input": refusal, "settings": refusal, "cmd power": refusal})
    with readiness.ready(device, lambda text: None):
        pass
    assert not readiness.put_right(device)


def test_what_a_killed_process_left_is_put_right_by_the_next_one(folder):
    device = ready_device()
    entered = readiness.ready(device, lambda text: None)
    entered.__enter__()  # and is killed here
    again = ready_device()
    assert readiness.put_right(again) and again.asked[0] == "settings put global stay_on_while_plugged_in 0"
    assert not readiness.put_right(again) and not list(folder.glob("undo-*"))
    entered.gen.close()


def test_a_device_that_went_is_put_right_when_it_is_back():
    gone = ready_device()
    with pytest.raises(DeviceLost):
        with readiness.ready(gone, lambda text: None):
            gone.answers = {"": DeviceLost("run", "unplugged")}
            raise DeviceLost("run", "unplugged")
    back = ready_device()
    assert readiness.put_right(back) and back.lines("settings put")


def test_a_damaged_record_stops_nothing(folder):
    device = ready_device()
    folder.mkdir(exist_ok=True)
    readiness._record(device.serial).write_text('{"not": [1]')
    assert readiness.put_right(device) and device.asked == []
    assert not readiness.put_right(device), "it is taken away"


def test_only_the_first_ctrl_c_interrupts_and_none_disturbs_the_tidying_up():
    import os
    import signal

    done = []
    with pytest.raises(KeyboardInterrupt):
        with interrupt.once():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                done.append("not here")
            finally:
                os.kill(os.getpid(), signal.SIGINT)
                done.append("tidied")
    assert done == ["tidied"]
    with pytest.raises(KeyboardInterrupt):
        with interrupt.once():
            with interrupt.held():
                os.kill(os.getpid(), signal.SIGINT)
                done.append("held")
            done.append("to the end")
    assert done[1:] == ["held", "to the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


LOG = """\
--------- beginning of main
11-21 22:00:00.100  1000:  900   950 I ActivityManager: Start proc 4321:org.quadra.runner/u0a123 for added application org.quadra.runner
11-21 22:00:00.123 10123:  4321  4345 I System.out: stage: start
11-21 22:00:00.124 10099:  7000  7000 I System.out: somebody else
11-21 22:00:00.200 10123:  4321  4345 I tflite  : Replacing 70 out of 70 node(s) with delegate (TfLiteGpuDelegateV2) node, yielding 1 partitions.
--------- beginning of crash
11-21 22:00:01.000 10123:  4400  4400 F DEBUG   : *** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
11-21 22:00:01.000 10123:  4400  4400 F DEBUG   : pid: 4321, tid: 4345, name: Instr: org.quad  >>> org.quadra.runner <<<
11-21 22:00:01.000 10123:  4400  4400 F DEBUG   : signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0
11-21 22:00:01.001  1000:   900   951 I ActivityManager: Process org.quadra.runner (pid 4321) has died: fg  INST
11-21 22:00:01.002  root:     1     1 I Zygote  : Process 4321 exited due to signal 11 (Segmentation fault)
11-21 22:00:01.003  1000:   900   951 I ActivityManager: Process com.other (pid 77) has died
garbage \x1b[2J
"""


def test_the_log_of_the_app_alone():
    for text, user in (
        (LOG, "10123"),
        (LOG.replace(" 10123:", "").replace(" 10099:", "").replace(" 1000:", "").replace("  root:", ""), ""),
    ):
        lines = app_log.of_app(text.splitlines(), user, "org.quadra.runner")
        words = [line.text for line in lines]
        assert len(lines) == 8 and "somebody else" not in words and not any("com.other" in word for word in words)
        assert app_log.tombstone(lines)[2].startswith("signal 11 (SIGSEGV)")
    lines = app_log.of_app(LOG.splitlines(), "10123", "org.quadra.runner")
    assert [text[:12] for text in app_log.said_by_app(lines, "10123")] == ["stage: start", "Replacing 70"]


def test_the_apps_user_and_the_devices_time_are_believed_only_in_their_form():
    device = FakeDevice({"pm list": "package:org.quadra.runner uid:10123\n", "date": "11-21 22:00:00.000\n"})
    assert app_log.user_of(device, "org.quadra.runner") == "10123" and app_log.now(device) == "11-21 22:00:00.000"
    shared = FakeDevice({"pm list": "package:org.quadra.runner uid:10123,1010123,15010123\n"})
    assert app_log.user_of(shared, "org.quadra.runner") == "10123", "installed for a work profile, too"
    liar = FakeDevice({"pm list": "package:org.quadra.runner.evil uid:10123\n", "date": "$(reboot)"})
    assert app_log.user_of(liar, "org.quadra.runner") == "" and app_log.now(liar) == ""
