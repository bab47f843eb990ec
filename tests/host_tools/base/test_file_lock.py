"""Locks on files: one has it or several share it, who waits gets it, and a dead owner's is free."""

import os
import subprocess
import sys
import threading
import time

import pytest

from host_tools.base import file_lock, settings

_HOLD = "import sys, time; from host_tools.base import file_lock; file_lock.acquire(sys.argv[1]); print('has it', flush=True); time.sleep(60)"


def test_one_has_it_until_it_is_freed_or_the_wait_is_over(tmp_path):
    path = tmp_path / "lock"
    assert not file_lock.is_held(path) and not path.exists()
    with file_lock.held(path):
        assert file_lock.is_held(path) and file_lock.acquire(path) is None
        with pytest.raises(TimeoutError), file_lock.held(path, wait_s=0.2):
            pass
        waiting = threading.Thread(target=lambda: got.append(file_lock.acquire(path, wait_s=20)))
        got = []
        waiting.start()
        time.sleep(0.2)
        assert not got
    waiting.join()
    assert got[0] is not None and file_lock.is_held(path)
    os.close(got[0])
    assert not file_lock.is_held(path)


def test_several_share_it_and_the_last_is_alone(tmp_path):
    path = tmp_path / "lock"
    one, two = file_lock.acquire(path, shared=True), file_lock.acquire(path, shared=True)
    assert not file_lock.is_held(path) and not file_lock.alone(one) and file_lock.acquire(path) is None
    os.close(two)
    assert file_lock.alone(one) and file_lock.is_held(path) and file_lock.acquire(path, shared=True) is None
    os.close(one)


def test_who_only_looks_keeps_nobody_out(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    code = "import sys; from host_tools.base import file_lock; print('looks', flush=True)\nwhile True: file_lock.is_held(sys.argv[1])"
    looking = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, cwd=settings.ROOT)
    try:
        looking.stdout.readline()
        for _ in range(5000):
            with file_lock.held(path, wait_s=0):
                pass
    finally:
        looking.kill()
        looking.wait()
        looking.stdout.close()


def test_a_killed_owners_lock_is_free(tmp_path):
    path = tmp_path / "lock"
    owner = subprocess.Popen([sys.executable, "-c", _HOLD, path], stdout=subprocess.PIPE, cwd=settings.ROOT)
    assert owner.stdout.readline() == b"has it\n" and file_lock.is_held(path)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert not file_lock.is_held(path)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        file_lock.acquire(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()
