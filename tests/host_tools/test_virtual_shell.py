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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    ("echo a  'b  c' \"d  $HOME\" e\\ f", "a b  c d  / e f\n"),
    ("false || echo or; true && echo and; ! false && echo not", "or\nand\nnot\n"),
    ("false; echo $?; sh -c 'exit 7'; echo $?", "1\n7\n"),
    ("X=1; Y=\"$X 2\"; echo $Y ${Z:-none} ${X:+set}", "1 2 none set\n"),
    ("echo $(echo a; echo b) `echo c`", "a b c\n"),
    ("echo \"$(printf 'a  b')\"", "a  b\n"),
    ("for i in 1 2 3; do echo $i; done | tail -n 1", "3\n"),
    ("if [ 1 -lt 2 ]; then echo yes; else echo no; fi", "yes\n"),
    ("if false; then echo a; elif true; then echo b; fi", "b\n"),
    ("i=x; while [ $i != xxx ]; do i=x$i; done; echo $i", "xxx\n"),
    ("(cd /system; pwd); pwd; { cd /data/local; pwd; }", "/system\n/\n/data/local\n"),
    ("(exit 3) | true; echo $?; (exit 3); echo $?", "0\n3\n"),
    ("yes | head -n 2", "y\ny\n"),
    ("echo one # two", "one\n"),
    ("echo 'quote\"s' \"it's\"", "quote\"s it's\n"),
    ("sh -c 'echo $0 $1 $#' name word", "sh word 1\n"),
    ("/system/bin/echo a; [ -x /system/bin/sha256sum ] && ls /system/bin | grep -x tar", "a\ntar\n"),
    ("echo a >/dev/null; echo b 2>/dev/null; nosuch 2>/dev/null; echo $?", "b\n127\n"),
    ("env A=1 sh -c 'echo $A'; A=2 sh -c 'echo $A'; echo \"[$A]\"", "1\n2\n[]\n"),
    ("echo '$(touch /data/local/tmp/quoted)'; ls /data/local/tmp/quoted 2>/dev/null; echo $?", None),
    ("printf '%s-%d\\n' a 1 b 2", "a-1\nb-2\n"),
]


@pytest.mark.parametrize("text, wanted", LANGUAGE)
def test_the_shell_reads_what_people_send(host, text, wanted):
    out, err, _ = host.shell(text)
    if wanted is not None:
        assert (out.decode(), err) == (wanted, b"")


def test_quoted_names_are_not_run(host):
    host.shell(f"cd {TMP}; rm -rf q; mkdir q; cd q; echo '$(touch a)' \"\\$(touch b)\" > '$(touch c)'")
    assert host.shell(f"ls {TMP}/q")[0] == b"$(touch c)\n"
    assert host.shell(f"cat {TMP}/q/*")[0] == b"$(touch a) $(touch b)\n"
    host.shell(f"cd {TMP}/q; echo $(touch ran)")
    assert b"ran\n" in host.shell(f"ls {TMP}/q")[0]


BROKEN = ["echo 'a", "if true; then", "a | | b", "; ;;", "echo a >", "(echo", "echo a &", "echo $((1))", "f() { :; }"]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_program_runs_nothing(host, text):
    out, err, status = host.shell(f"echo before; {text}")
    assert out == b"" and status == 1 and err.startswith(b"/system/bin/sh: ")


def test_the_exit_status_is_one_byte(host):
    assert [host.shell(f"exit {n}")[2] for n in (0, 1, 255, 256, 300)] == [0, 1, 255, 0, 44]


def test_files_as_toybox_shows_them(host):
    host.shell(f"rm -rf {TMP}/t; mkdir -p {TMP}/t/s; cd {TMP}/t; echo hello > x; cat x x > s/y; ln -s x l")
    digest = hashlib.sha256(b"hello\n").hexdigest()
    for text, wanted in (
        ("ls", "l\ns\nx\n"),
        ("ls -1 s x", "x\n\ns:\ny\n"),
        ("sha256sum x; sha256sum -b x", f"{digest}  x\n{digest}\n"),
        ("stat -c '%s %n %F' x s/y", "6 x regular file\n12 s/y regular file\n"),
        ("find . -type f", "./s/y\n./x\n"),
        ("find . -name '[lx]' -maxdepth 1", "./l\n./x\n"),
        ("readlink l; cat l; realpath l", f"x\nhello\n{TMP}/t/x\n"),
        ("wc -c < x; wc -l x; head -c 3 x; echo; tail -c 3 x", "6\n1 x\nhel\nlo\n"),
        ("cp -r s s2; mv s2/y z; ls s2 z; rmdir s2; rm z; ls", "z\n\ns2:\nl\ns\nx\n"),
        ("chmod 755 x; stat -c %a x; chmod u-x,go= x; stat -c %a x", "755\n600\n"),
        ("grep -c h x; echo a1 | grep -o 1 || true; echo b | grep a || echo none", "1\na1\nnone\n"),
        ("tar -c s x | tar -t", "s\ns/y\nx\n"),
        ("mkdir u; tar -cf - s x | tar -x -C u; cat u/s/y u/x; rm -r u", "hello\nhello\nhello\n"),
        ("dd if=x bs=2 count=2 2>/dev/null; head -c 3 /dev/zero | tr '\\0' a; head -c 4 /dev/urandom | wc -c", "hellaaa4\n"),
        ("seq 3 | sort -rn | tr '\\n' ' '; echo 1:2 | cut -d : -f 2", "3 2 1 2\n"),
        ("ls | xargs -n 1 echo name", "name l\nname s\nname x\n"),
        ("touch -d @1000000000 x; stat -c %Y x", "1000000000\n"),
        ("du -b x; [ -f x ] && [ -d s ] && [ -L l ] && [ ! -e nope ] && echo ok", "6\tx\nok\n"),
    ):
        out, err, _ = host.shell(f"cd {TMP}/t; {text}")
        assert (out.decode(), err) == (wanted, b""), text


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
        ("touch /system/x", "touch: /system/x: Read-only file system"),
        ("echo x > /x", "/system/bin/sh: can't open /x: Read-only file system"),
        ("cat /data/local/tmp/none", "cat: /data/local/tmp/none: No such file or directory"),
        ("nosuch", "/system/bin/sh: nosuch: inaccessible or not found"),
        ("run-as org.nobody ls", "run-as: unknown package: org.nobody"),
        ("ls -Q", 'ls: Unknown option \'-Q\' (see "ls --help")'),
        ("setprop ro.a.b x", "setprop: failed to set property 'ro.a.b' to 'x': permission denied"),
        ("cd /none", "/system/bin/sh: cd: /none: No such file or directory"),
        ("mkdir /data/local/tmp/a/b/c", "mkdir: '/data/local/tmp/a/b/c': No such file or directory"),
        ("./none", "/system/bin/sh: ./none: inaccessible or not found"),
        ("rm /data/local/tmp", "rm: /data/local/tmp: is directory"),
        ("rm -r /data/local/tmp", "rm: /data/local/tmp: Permission denied"),
    ],
)
def test_refusals_have_a_phones_words(host, text, wanted):
    out, err, status = host.shell(text)
    assert (out, err.decode().strip()) == (b"", wanted) and status != 0


def test_the_system_answers_as_a_phone_of_this_processor(host):
    asked = "getprop ro.product.cpu.abilist; getprop ro.build.version.sdk; id -u; getconf PAGE_SIZE; uname -m"
    out = host.shell(asked)[0]
    assert out == b"x86_64\n34\n2000\n4096\nx86_64\n"
    assert b"[ro.product.model]: [Virtual device]\n" in host.shell("getprop")[0]
    host.shell("setprop debug.quadra.x 1; svc power stayon true; input keyevent KEYCODE_SLEEP")
    asked = ("getprop debug.quadra.x", "settings get global stay_on_while_plugged_in", "dumpsys power | grep mWakefulness=")
    out = host.shell("; ".join(asked))[0]
    assert out == b"1\n7\n  mWakefulness=Asleep\n"
    host.shell("dumpsys battery set level 5; cmd thermalservice override-status 2")
    assert b"level: 5\n" in host.shell("dumpsys battery")[0]
    assert b"Thermal Status: 2\n" in host.shell("dumpsys thermalservice")[0]
    host.shell("dumpsys battery reset; cmd thermalservice reset")


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
    assert host.shell("logcat -d -v brief -s tflite:I")[0].endswith(b"I/tflite  ( 1234): two\n")
    assert host.shell("logcat -v raw -t 1")[0] == b"--------- beginning of crash\nfatal\n"
    assert host.shell("logcat -d -v raw -e tw --pid=1234 *:V")[0] == b"--------- beginning of main\ntwo\n"
    since = host.shell("date '+%m-%d %H:%M:%S.000'")[0].decode().strip()
    log.add("W", "late", "late")
    assert b"late" in host.shell(f"logcat -d -T '{since}'")[0]
    assert host.shell("logcat -d -T '12-31 23:59:59.000'")[0] == b""
    assert host.shell("logcat -b crash -c; logcat -d -b crash")[0] == b""
    stream = host.open("exec:logcat -v raw -s later")
    log.add("I", "later", "now")
    assert stream.read(32) == b"--------- beginning of main\nnow\n"
    stream.close()
    for words in ("-b nosuch", "-v nosuch", "-T x", "--nosuch", "-e"):
        assert host.shell(f"logcat {words}")[2] == 1


@pytest.mark.parametrize("command", ["sort", "tr a b", "xargs", "base64", "grep x", "tail -n 1", "sh", "uniq"])
def test_a_command_holds_only_so_much(host, monkeypatch, command):
    monkeypatch.setattr(call, "_MOST_HELD", 1 << 20)
    monkeypatch.setattr(call, "_LONGEST_LINE", 1 << 20)
    _, err, status = host.shell(f"cat /dev/zero | {command}")
    assert status != 0 and b"Cannot allocate memory" in err


def test_words_are_counted_over_the_ends_of_pieces(host):
    data = b"word " * 500_000 + b"\nlast"
    assert host.shell("wc", data)[0] == b"1 500001 2500005\n"


def test_a_command_ends_when_nobody_listens(host):
    stream = host.open("shell,v2,raw:sleep 100 | cat")
    stream.close()
    endless = host.open("exec:yes")
    endless.read(1000)
    endless.close()
    names = ("exec:yes", "shell,v2,raw:sleep")
    end = time.monotonic() + 5
    while any(thread.name.startswith(names) for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"yes", "reboot", "logcat"}))
def test_no_command_breaks_on_words_it_does_not_know(host, name):
    for words in ("", "x", "-Q", "--", "-", "x y z", "-c", "-n", "-1", "0 0", "/ /", "'' ''", "get", "set", "=", "%s", "@x"):
        _, _, status = host.shell(f"{name} {words} < /dev/null | head -n 20; {name} {words} > /dev/null")
        assert 0 <= status <= 255, (name, words)


def test_a_terminal_gets_a_prompt_and_sees_what_is_typed(host):
    stream = host.open("shell:")
    stream.write(b"echo hi\r")
    stream.write(b"exit 3\r")
    assert stream.rest() == b"virtual:/ $ echo hi\r\nhi\nvirtual:/ $ exit 3\r\n"


WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
PIECES = st.one_of(
    WORDS,
    st.sampled_from("$( ) ` ' \" | || && ; > < 2>&1 $ ${ } if then fi".split()),
    st.sampled_from("for in do done while ( { * .. / \\ ls echo".split()),
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
        stream = host.open(f"shell,v2,raw:timeout 1 true; {text}\n")
        stream.write(b"\x04\0\0\0\0")
        if "yes" not in text and "reboot" not in text:
            stream.rest()
    assert not [note for note in host.device.log if note.what == "bug"]
