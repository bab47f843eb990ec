"""A phone GPU's compiler is asked once for a text; where it crashes or hangs, that is a finding about one text."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from host_tools.analyse import compilers, phone_compilers
from host_tools.analyse.phone_gpus import named
from host_tools.base.errors import Misuse, RunFailed, ToolMissing

(GPU,) = named("adreno-740")

# A driver that does what the texts say, and leaves a line for each text that it got.
_DRIVER = """
import os, sys, time
asked, device, *files = sys.argv[1:]
print(f"### device {device} | OpenGL ES 3.2", flush=True)
for file in files:
    text = open(file).read()
    open(asked, "a").write(text + "\\n")
    print(f"### text {file}\\nsaid: {text} on {os.environ['FD_GPU_ID']}", flush=True)
    if text.startswith("crash"):
        os.abort()
    if text.startswith("hang"):
        time.sleep(60)
    if text.startswith("wrong"):
        print("log: 0:1 a syntax error")
    print("### end " + ("compile" if text.startswith("wrong") else "ok"), flush=True)
"""


@dataclass
class Driver:
    folder: Path
    device: str = "FD740"
    version: str = "26"
    more: tuple[str, ...] = ()

    def command(self, files):
        return [sys.executable, self.folder / "driver.py", self.folder / "asked", self.device, *files]

    def environment(self):
        return {}

    def asked(self):
        file = self.folder / "asked"
        return sorted(file.read_text().split()) if file.exists() else []


@pytest.fixture
def driver(tmp_path, monkeypatch):
    one = Driver(tmp_path)
    (tmp_path / "driver.py").write_text(_DRIVER)
    monkeypatch.setattr(phone_compilers, "require", lambda vendor, api: one)
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "tools"))
    return one


def ask(*texts):
    return [(said.end, said.words) for said in compilers.ask(GPU, "gles", texts, lambda line: None)[1]]


def test_words_come_in_the_order_of_the_texts(driver):
    texts = [f"text{i}" for i in range(9)]
    assert ask(*texts) == [("ok", f"said: {text} on 740") for text in texts]


def test_a_text_is_compiled_once(driver):
    first = ask("a", "b")
    assert ask("b", "c", "a") == [first[1], ("ok", "said: c on 740"), first[0]]
    assert driver.asked() == ["a", "b", "c"]


def test_another_version_or_gpu_is_asked_anew(driver):
    ask("a")
    driver.version = "27"
    ask("a")
    driver.device = "FD630"
    assert compilers.ask(named("adreno-630")[0], "gles", ["a"], lambda line: None)[1][0].words == "said: a on 630"
    assert driver.asked() == ["a", "a", "a"]


def test_a_damaged_file_of_the_cache_is_a_miss(driver, tmp_path):
    first = ask("a")
    (file,) = (tmp_path / "tools").rglob("*.gz")
    for damaged in (b"", b"no gzip", file.read_bytes()[:-5]):
        file.write_bytes(damaged)
        assert ask("a") == first
    assert driver.asked() == ["a"] * 4


def test_a_refused_text_has_its_log(driver):
    assert ask("wrong", "a") == [
        ("compile", "said: wrong on 740\nlog: 0:1 a syntax error"),
        ("ok", "said: a on 740"),
    ]


def test_a_crash_is_a_finding_about_one_text(driver):
    ends = [end for end, _ in ask("a", "crash", "b", "crash2")]
    assert ends == ["ok", "the compiler ended with status -6", "ok", "the compiler ended with status -6"]


def test_a_hang_is_a_finding_about_one_text(driver, monkeypatch):
    monkeypatch.setattr(compilers, "_START_S", 2.0)
    monkeypatch.setitem(compilers._TEXT_S, "adreno", 0.1)
    ends = [end for end, _ in ask("a", "hang", "b")]
    assert ends[0] == ends[2] == "ok" and "did not end within" in ends[1]


def test_what_ended_the_compiler_is_tried_again(driver):
    ask("crash", "wrong")
    ask("crash", "wrong")
    assert driver.asked() == ["crash", "crash", "wrong"]


def test_who_stops_does_not_wait_for_the_compilers(driver):
    def stop(line):
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        compilers.ask(GPU, "gles", ["a", "b", "c", "d", "hang"], stop)
    assert time.monotonic() - began < 30.0


@pytest.mark.parametrize("device", ["llvmpipe (LLVM 19)", "FD630"])
def test_a_driver_of_another_gpu_is_an_error(driver, device):
    driver.device = device
    with pytest.raises(RunFailed, match=device[:5]):
        ask("a")
    assert not list(driver.folder.rglob("*.gz"))


def test_a_driver_that_does_not_start_is_an_error(driver, monkeypatch):
    monkeypatch.setattr(driver, "command", lambda files: [sys.executable, "-c", "print('no display'); exit(2)"])
    with pytest.raises(RunFailed, match="no display"):
        ask("a")


def test_without_the_compilers_a_sentence_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path))
    with pytest.raises(ToolMissing, match="analyse --install"):
        ask("a")


def test_gpus_have_names():
    assert [gpu.name for gpu in named("mali-g610, adreno-630,mali-g610")] == ["mali-g610", "adreno-630"]
    for words in ("adreno-1", "", ","):
        with pytest.raises(Misuse, match="adreno-630, adreno-740, mali-g76, mali-g610"):
            named(words)
