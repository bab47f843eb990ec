"""The device's shell and commands, over the wire, as a phone's would answer."""

import hashlib
import io
import os
import re
import subprocess
import tarfile
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from host_tools.virtual_device import call
from host_tools.virtual_device.call import COMMANDS
from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools.wire_client import Host

TMP = "/data/local/tmp"


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with VirtualDevice(tmp_path_factory.mktemp("device")) as device, Host(device.port) as one:
        one.device = device
        yield one
        assert not [note for note in device.log if note.what == "bug"]


LANGUAGE = [
    ("echo a  'b  c' \"d  e\" f\\ g '' h", "a b  c d  e f g  h\n"),
    ("false || echo or; true && echo and; false && echo not", "or\nand\n"),
    ("false && echo a || echo b; true || echo c && echo d", "b\nd\n"),
    ("echo one\necho two\n", "one\ntwo\n"),
    ("echo 'quote\"s' \"it's\" \"a\\\"b\\\\\" ';' '$(id)' \"\\$HOME\" '*'", "quote\"s it's a\"b\\ ; $(id) $HOME *\n"),
    ("cd /system; pwd; cd ../data/local && pwd; sh -c 'cd /; pwd'; pwd", "/system\n/data/local\n/\n/data/local\n"),
    ("cat /dev/zero | true; echo a | cat | cat", "a\n"),
    ("exit 3 | true && echo a; cd / | true; pwd", "a\n/\n"),
    ("/system/bin/echo a; echo b >/dev/null; nosuch 2>/dev/null || echo c 2>&1", "a\nc\n"),
    (f"echo a > {TMP}/r; echo b >>{TMP}/r; cat <{TMP}/r; nosuch > {TMP}/r 2>&1; cat {TMP}/r",
     "a\nb\n/system/bin/sh: nosuch: inaccessible or not found\n"),
    ("exec echo a; echo b", "a\n"),
]  # fmt: skip


@pytest.mark.parametrize("text, wanted", LANGUAGE)
def test_the_shell_reads_what_people_send(host, text, wanted):
    assert host.shell(text)[:2] == (wanted.encode(), b"")


REFUSED = [
    "echo 'a", "a | | b", "; ;;", "echo a >", "echo a &", "(echo)", "a &&", "| a", "> x", "echo $HOME", 'echo "$HOME"', "echo `id`",
    "echo $(id)", "ls *", "ls [a]", "ls ?", "ls ~", "if true; then echo; fi", "for i in 1; do echo; done", "! true", "{ echo; }", "a # b",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_it_does_not_understand_is_refused_before_anything_runs(host, text):
    out, err, status = host.shell(f"echo before; {text}")
    assert out == b"" and status == 1 and err.startswith(b"/system/bin/sh: syntax error")


def test_the_exit_status_is_one_byte_and_that_of_the_last_command(host):
    assert [host.shell(f"exit {n}")[2] for n in (0, 1, 255, 256, 300)] == [0, 1, 255, 0, 44]
    assert [host.shell(text)[2] for text in ("false", "false; true", "true | false", "nosuch", "sh -c 'exit 7'")] == [
        1,
        0,
        1,
        127,
        7,
    ]


def test_without_a_command_it_says_that_it_has_no_terminal(host):
    assert b"this device has no terminal" in host.open("shell:").rest()


def test_files_as_toybox_shows_them(host):
    host.shell(f"mkdir -p {TMP}/t/s; cd {TMP}/t; echo hello > x; cat x x > s/y")
    os.symlink("x", host.device.root / f"{TMP[1:]}/t/l")
    digest = hashlib.sha256(b"hello\n").hexdigest()
    for text, wanted in (
        ("ls", "l\ns\nx\n"),
        ("ls -1 s x", "x\n\ns:\ny\n"),
        ("ls -d s; ls -A s; ls -a s", "s\ny\n.\n..\ny\n"),
        ("sha256sum x s/y | grep -v y", f"{digest}  x\n"),
        ("find . -type f", "./s/y\n./x\n"),
        ("find s; find . -name '[lx]'", "s\ns/y\n./l\n./x\n"),
        ("cat l", "hello\n"),
        ("mkdir m; cp x s/y m; mv m/y z; mv -f m/x z; cat z; ls m; rm z; rm -r m; ls", "hello\nl\ns\nx\n"),
        (
            "echo '#!' > p; chmod 755 p; cp p q; ls -l q | grep -v rwxr-xr-x; chmod 644 q; ls -l q | grep -v rw-r--r--",
            "",
        ),
        (
            "grep h x; cat s/y | grep -v h || echo none; grep -i HELL x; ls | grep -E '^p'",
            "hello\nnone\nhello\np\n",
        ),
    ):
        out, err, _ = host.shell(f"cd {TMP}/t; {text}")
        assert (out.decode(), err) == (wanted, b""), text
    long = host.shell(f"ls -l {TMP}/t")[0].decode()
    assert (
        re.search(r"^-rw-rw---- 1 shell shell +6 \d{4}-\d\d-\d\d \d\d:\d\d x$", long, re.MULTILINE)
        and " l -> x\n" in long
    )


def test_tar_carries_bytes_as_they_are(host):
    data = os.urandom(300_000)
    host.push(f"{TMP}/tar/a b", data)
    archive = host.open(f"exec:tar -C {TMP} -cf - tar").rest()
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        assert opened.extractfile("tar/a b").read() == data


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("ls /data", "ls: /data: Permission denied"),
        ("mkdir /system/x", "mkdir: '/system/x': Read-only file system"),
        ("echo x > /x", "/system/bin/sh: can't open /x: Read-only file system"),
        ("cat /data/local/tmp/none", "cat: /data/local/tmp/none: No such file or directory"),
        ("nosuch", "/system/bin/sh: nosuch: inaccessible or not found"),
        ("run-as org.nobody ls", "run-as: unknown package: org.nobody"),
        ("ls -Q", "ls: Unknown option 'Q' (see \"ls --help\")"),
        ("cd /none", "/system/bin/sh: cd: /none: No such file or directory"),
        ("mkdir /data/local/tmp/a/b/c", "mkdir: '/data/local/tmp/a/b/c': No such file or directory"),
        ("./none", "/system/bin/sh: ./none: inaccessible or not found"),
        ("rm /data/local/tmp", "rm: /data/local/tmp: is directory"),
        ("rm -r /data/local/tmp", "rm: /data/local/tmp: Permission denied"),
        ("kill 1", "kill: No such process"),
    ],
)
def test_refusals_have_a_phones_words(host, text, wanted):
    out, err, status = host.shell(text)
    assert (out, err.decode().strip()) == (b"", wanted) and status != 0


def test_the_system_answers_as_a_phone_of_this_processor(host):
    asked = "getprop ro.product.cpu.abilist; getprop ro.build.version.sdk; id -u; getconf PAGE_SIZE; uname -m; uname -s"
    assert host.shell(asked)[0] == b"x86_64\n34\n2000\n4096\nx86_64\nLinux\n"
    assert b"[ro.product.model]: [Virtual device]\n" in host.shell("getprop")[0]
    host.shell("svc power stayon true; input keyevent KEYCODE_SLEEP")
    asked = (
        "settings get global stay_on_while_plugged_in",
        "dumpsys power | grep mWakefulness=",
    )
    assert host.shell("; ".join(asked))[0] == b"7\n  mWakefulness=Asleep\n"
    assert b"level: 87\n" in host.shell("dumpsys battery")[0]
    assert b"Thermal Status: 0\n" in host.shell("dumpsys thermalservice")[0]


def test_the_log_is_read_as_logcat_reads_it(host):
    log = host.device.logcat
    log.clear()
    log.add("I", "tflite", "one\ntwo", pid=1234, tid=1240, uid=10123)
    log.add("E", "AndroidRuntime", "fatal", pid=77, uid=2000, buffer="crash")
    out = host.shell("logcat -d -b main,system,crash -v threadtime -v uid")[0].decode()
    moment = r"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"
    assert re.fullmatch(
        "--------- beginning of main\n"
        f"{moment} 10123  1234  1240 I tflite  : one\n{moment} 10123  1234  1240 I tflite  : two\n"
        "--------- beginning of crash\n"
        f"{moment} shell    77    77 E AndroidRuntime: fatal\n",
        out,
    )
    assert host.shell("logcat -d -s tflite:I")[0].endswith(b" 1234  1240 I tflite  : two\n")
    last = host.shell("logcat -t 1")[0]
    assert last.startswith(b"--------- beginning of crash\n") and last.endswith(b" fatal\n")
    assert host.shell("logcat -t 0") == (last, b"WARNING: -t 0 invalid, setting to 1\n", 0)
    assert host.shell("logcat -d -b main -b crash -v threadtime -v uid")[0].decode() == out
    assert re.findall(rb": (\w+)\n", host.shell("logcat -d --pid=1234 '*:V'")[0]) == [b"one", b"two"]
    since = host.shell("date '+%m-%d %H:%M:%S.000'")[0].decode().strip()
    log.add("W", "late", "late")
    assert b"late" in host.shell(f"logcat -d -T '{since}'")[0]
    assert host.shell("logcat -d -T '12-31 23:59:59.000'")[0] == b""
    assert host.shell("logcat -b crash -c; logcat -d -b crash")[0] == b""
    stream = host.open("exec:logcat -s later")
    log.add("I", "later", "now")
    assert stream.read(29) == b"--------- beginning of main\n"[:28] + b"1"
    stream.close()
    for words in ("-b nosuch", "-v nosuch", "-T x", "--nosuch", "-Q", "--pid=x"):
        assert host.shell(f"logcat {words}")[2] == 1
    assert host.shell("logcat -T x")[1] == b"logcat: -T 'x' not in time format.\n"


def test_of_a_repeated_option_the_last_counts(host):
    assert host.shell("cd /data/local/tmp; mkdir d; mkdir -m 700 -m 750 d/e; ls -ld d/e")[0].startswith(b"drwxr-x---")
    assert host.shell("cd /data/local/tmp; echo x > d/f; tar -c -C /nosuch -C d -f - f")[2] == 0


@pytest.mark.parametrize("command", ["grep x"])
def test_a_command_holds_only_so_much(host, monkeypatch, command):
    monkeypatch.setattr(call, "_LONGEST_LINE", 1 << 20)
    _, err, status = host.shell(f"cat /dev/zero | {command}")
    assert status != 0 and b"Cannot allocate memory" in err


def test_a_command_ends_when_nobody_listens(host):
    stream = host.open("shell,v2,raw:sleep 100 | cat")
    stream.close()
    endless = host.open("exec:cat /dev/zero")
    endless.read(1000)
    endless.close()
    names = ("exec:cat", "shell,v2,raw:sleep")
    end = time.monotonic() + 5
    while any(thread.name.startswith(names) for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"reboot", "logcat"}))
def test_no_command_breaks_on_words_it_does_not_know(host, name):
    for words in (
        "",
        "x",
        "-Q",
        "--",
        "-",
        "x y z",
        "-c",
        "-n",
        "-1",
        "0 0",
        "/ /",
        "'' ''",
        "get",
        "set",
        "=",
        "%s",
        "@x",
    ):
        _, _, status = host.shell(f"{name} {words} < /dev/null | true; {name} {words} > /dev/null")
        assert 0 <= status <= 255, (name, words)


WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
PIECES = st.one_of(
    WORDS,
    st.sampled_from(
        ["$(", ")", "`", "'", '"', "|", "||", "&&", ";", ">", "<", "2>&1", "$", "${", "}", "if", "then", "fi"]
    ),
    st.sampled_from(["*", "..", "/", "\\", "ls", "echo", "cat", "cd", "exec", "exit", "sh", "-c", "kill", "pkill"]),
    st.sampled_from(["\n", "rm -rf /", "sh -c"]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_whatever_is_sent_no_program_of_the_host_is_started(host, text):
    def started(*words, **_):
        raise AssertionError(words)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("system", "popen", "execv", "execve", "fork", "posix_spawn"):
            patch.setattr(os, name, started)
        patch.setattr(subprocess, "Popen", started)
        stream = host.open(f"shell,v2,raw:true; {text}\n")
        stream.write(b"\x04\0\0\0\0")
        if "reboot" not in text:
            stream.rest()
    assert not [note for note in host.device.log if note.what == "bug"]
