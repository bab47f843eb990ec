"""Whatever the toolkit sends, the virtual device answers as the toolkit needs it."""

import re
from pathlib import Path

from host_tools.base import settings
from host_tools.virtual_device import processes
from tests.host_tools.places.test_place_device import phone_at
from tests.host_tools.virtual_device.sent import BY_TESTS, SENT, TMP, shape
from tests.host_tools.virtual_device.test_virtual_app import _Stub
from tests.virtual import ask


def test_every_command_that_the_toolkit_sends_has_its_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(processes.Processes, "machine", lambda *_: _Stub())
    phone = phone_at(tmp_path / "root")
    pushed = phone.root / TMP[1:] / "pushed"
    pushed.write_bytes(b"pushed")
    pushed.chmod(0o755)
    for line, status, said in SENT:
        answer = ask(phone, line)
        assert answer.status == status and re.fullmatch(said, answer.out), (line, answer)
        assert status or not answer.err, (line, answer)
    assert not [note for note in phone.log if note.what == "bug"]


def test_the_table_has_nothing_that_the_toolkit_does_not_know():
    folders = [settings.ROOT / "host_tools" / name for name in ("phone", "places")]
    source = "".join(Path(path).read_text() for folder in folders for path in folder.rglob("*.py"))
    for words in [shape(line).split() for line, _, _ in SENT if shape(line) != "a program"]:
        assert all(f'"{word}"' in source for word in words), words


def test_a_command_that_is_not_in_the_table_is_seen():
    known = {shape(line) for line, _, _ in SENT}
    assert shape("run-as org.quadra.runner tar -C x -cf - a 'b c'") in known and shape("/data/a/b --x") in known
    for line in ("tar -C x -czf - a", "pm clear org.quadra.runner", "top", "exec pkill x"):
        assert shape(line) not in {*known, *BY_TESTS}
