"""`inv cache` lists, shows, verifies, compares and prunes; `inv plan` and `inv replay` take its files, too."""

import os
from dataclasses import replace

import pytest

from host_tools.base.errors import Misuse
from host_tools.record import cache_file
from host_tools.tasks import caches
from tests.host_tools.record import cache_files, plans
from tests.host_tools.tasks.test_plans import inv

HASH = "0123456789abcdef" * 2


@pytest.fixture
def folder(tmp_path):
    """Three files, used one after the other, a link, and one that was left by a killed process."""
    made = tmp_path / "cache"
    made.mkdir()
    whole = plans.write(plans.PLAN, tmp_path / "one").read_bytes()
    other = plans.write(plans.changed(precision="f16"), tmp_path / "two").read_bytes()
    key = cache_files.KEY.replace("f32,", "f16,").replace('"small"', '"large"')
    for age, (name, plan, more) in enumerate([("a", whole, {}), ("my_b", other, {"key": key}), ("c", whole, {})]):
        path = made / f"{name}_{HASH}.quadra"
        path.write_bytes(cache_files.content(plan, **more))
        os.utime(path, (1e9 + age, 1e9 + age))
    (made / "link_00.quadra").symlink_to(tmp_path / "one")
    (made / "a.1.0.unfinished").write_bytes(b"x")
    os.utime(made / "a.1.0.unfinished", (1e9, 1e9))
    return made


def file(folder, name):
    return str(folder / f"{name}_{HASH}.quadra")


def test_list_tells_what_each_file_is(folder, capsys):
    (folder / f"bad_{HASH}.quadra").write_bytes(b"QUADRAP\n")
    assert inv("cache", "list", str(folder)) == 0
    said = capsys.readouterr().out
    rows = {line.split()[1]: line for line in said.splitlines() if line.startswith("01234567")}
    assert set(rows) == {"a", "my_b", "c"}
    assert (
        "small" in rows["a"]
        and "a [bold]CPU[/]" in rows["a"]
        and " f32  " in rows["a"]
        and "in float32" not in said
        and " 3 " in rows["a"]
    )
    assert "large" in rows["my_b"] and " f16 " in rows["my_b"] and "2001-09-0" in rows["my_b"]
    assert "it ends in its header" in said and "link" not in said


def test_the_model_is_a_column_only_where_an_app_named_it(folder, capsys):
    assert inv("cache", "list", str(folder)) == 0
    assert "model" in capsys.readouterr().out.split("\n")[0]
    for path in folder.glob(f"*_{HASH}.quadra"):
        if path.name.startswith("a_"):
            path.rename(folder / f"_{HASH}.quadra")
        else:
            path.unlink()
    (folder / f"_{HASH[::-1]}.quadra").write_bytes(b"QUADRAP\n")
    assert inv("cache", "list", str(folder)) == 0
    said = capsys.readouterr().out
    assert said.split()[:3] == ["hash", "target", "device"] and "small" in said and "it ends in its header" in said


def test_show_has_the_key_and_the_plan(folder, capsys):
    assert inv("cache", "show", file(folder, "a")) == 0
    said = capsys.readouterr().out
    for word in ("format 4", "build 1234", "target: name small, storage buffer", "binaries of 1 program", "001_add"):
        assert word in said, word


def test_verdicts_are_listed_shown_and_verified(folder, capsys):
    path = folder / f"a_{HASH}.verdicts"
    path.write_bytes(cache_files.verdicts())
    assert inv("cache", "list", str(folder)) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if " verdicts " in line and " a " in line]
    assert inv("cache", "show", str(path)) == 0
    said = capsys.readouterr().out
    for words in ("model 00ff", "2 of 3 nodes on the GPU", "1 node; its plan is kept under graph bb", "no SUCH yet"):
        assert words in said, words
    assert inv("cache", "verify", str(path)) == 0
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert inv("cache", "verify", str(path)) == 1
    path.unlink()


def test_verify_says_which_files_are_bad(folder, capsys):
    assert inv("cache", "verify", file(folder, "a")) == 0
    data = bytearray((folder / f"c_{HASH}.quadra").read_bytes())
    data[-5] ^= 1
    (folder / f"c_{HASH}.quadra").write_bytes(data)
    assert inv("cache", "verify", str(folder)) == 1
    said = capsys.readouterr().out
    assert f"c_{HASH}.quadra  bad: its binaries are damaged" in said
    assert "a.1.0.unfinished  bad: it was not written to its end" in said and "2 of 4 files are good" in said


def test_verify_reads_the_plan_too(folder, capsys):
    path = folder / f"d_{HASH}.quadra"
    path.write_bytes(
        cache_files.content(plans.write(plans.changed(regions__1__buffer=7), folder.parent / "p").read_bytes())
    )
    assert inv("cache", "verify", str(path)) == 1
    assert "region 1 makes no sense" in capsys.readouterr().out


def test_diff_begins_with_the_key(folder, capsys):
    assert inv("cache", "diff", file(folder, "a"), file(folder, "c")) == 0
    capsys.readouterr()
    assert inv("cache", "diff", file(folder, "a"), file(folder, "my_b")) == 1
    said = capsys.readouterr().out
    assert said.index("target.name") < said.index("properties") and "f16" in said


def test_prune_removes_what_was_not_used_for_longest(folder, tmp_path, capsys):
    size = (folder / f"my_b_{HASH}.quadra").stat().st_size + (folder / f"c_{HASH}.quadra").stat().st_size
    assert inv("cache", "prune", str(folder), "--to", str(size)) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        f"c_{HASH}.quadra",
        "link_00.quadra",
        f"my_b_{HASH}.quadra",
    ]
    said = capsys.readouterr().out
    assert f"removed a_{HASH}.quadra" in said and "removed a.1.0.unfinished" in said
    assert inv("cache", "prune", str(folder), "--to=0") == 0
    assert [path.name for path in folder.iterdir()] == ["link_00.quadra"] and (tmp_path / "one").exists()


@pytest.fixture
def sharing(tmp_path):
    """Two plans' files, of which the younger has both files of weights and the older one has one, and weights of none."""
    made = tmp_path / "sharing"
    made.mkdir()
    plan = plans.write(plans.PLAN, tmp_path / "one").read_bytes()
    parts = (64, 128), (192, 256)
    for begin, end in parts:
        name, data = cache_files.weights_file(plan[begin:end])
        (made / name).write_bytes(data)
    (made / cache_files.weights_file(b"nobody's")[0]).write_bytes(b"nobody's")
    for age, its in enumerate((parts[:1], parts)):
        path = made / f"m_{age:032x}.quadra"
        path.write_bytes(cache_files.content(plan, weights=its))
        os.utime(path, (1e9 + age, 1e9 + age))
    return made


def test_an_index_of_hashes_is_shown_and_verified(tmp_path, capsys):
    record = cache_file.KNOWN_HASH.pack(1, 77, 4000000, 5, 6, 4096, 65536, 9, 0x1234, 0xAB)
    parts = cache_file.Parts(b"hashes of files, library 0.1.0, build x\n", record, b"")
    path = tmp_path / f"_{HASH}.hashes"
    path.write_bytes(parts.pack())
    assert inv("cache", "show", str(path)) == 0
    assert "00000000000000ab0000000000001234: 65536 bytes at 4096 of the file with inode 77" in capsys.readouterr().out
    assert inv("cache", "show", str(path), "--json") == 0
    assert '"inode": 77' in capsys.readouterr().out
    assert inv("cache", "list", str(tmp_path)) == 0 and inv("cache", "verify", str(tmp_path)) == 0
    assert "1 of 1 files are good" in capsys.readouterr().out
    path.write_bytes(replace(parts, plan=record[:-8]).pack())
    assert inv("cache", "verify", str(tmp_path)) == 1
    assert "bad: its hashes are damaged" in capsys.readouterr().out
    assert inv("cache", "prune", str(tmp_path), "--to", "0") == 0 and not path.exists()


def test_weights_are_summed_up_and_verified(sharing, capsys):
    assert inv("cache", "list", str(sharing)) == 0
    said = capsys.readouterr().out
    assert said.count(" f32 ") == 2 and "weights: 3 files, 136 bytes" in said and "5 files" in said
    assert inv("cache", "verify", str(sharing)) == 0
    assert "5 of 5 files are good" in capsys.readouterr().out
    (weights, *_) = sorted(path for path in sharing.glob("*.weights") if path.stat().st_size == 64)
    data = bytearray(weights.read_bytes())
    data[3] ^= 1
    weights.write_bytes(data)
    assert inv("cache", "verify", str(sharing)) == 1
    said = capsys.readouterr().out
    assert (
        f"{weights.name}  bad: it is damaged" in said and ".quadra  bad: a file of its weights: it is damaged" in said
    )


def test_prune_keeps_the_weights_of_plans_that_stay(sharing, capsys):
    size = sum(path.stat().st_size for path in sharing.iterdir())
    assert inv("cache", "prune", str(sharing), "--to", str(size - 1)) == 0
    assert "weights" not in capsys.readouterr().out
    assert sorted(path.suffix for path in sharing.iterdir()) == [".quadra", *[".weights"] * 3]
    nobodys = sharing / cache_files.weights_file(b"nobody's")[0]
    os.utime(nobodys, (1e9, 1e9))
    assert inv("cache", "prune", str(sharing), "--to", str(size)) == 0
    assert not nobodys.exists() and len(list(sharing.glob("*.weights"))) == 2
    assert inv("cache", "prune", str(sharing), "--to=300") == 0
    assert not list(sharing.iterdir())


def test_plan_and_replay_take_such_a_file(folder, capsys):
    assert inv("plan", "show", file(folder, "a")) == 0
    assert inv("plan", "diff", file(folder, "a"), str(folder.parent / "one")) == 0
    assert inv("replay", file(folder, "a")) == 0
    assert "4 dispatches on" in capsys.readouterr().out


def test_a_pipe_is_no_file(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    for word in ("show", "verify"):
        assert inv("cache", word, str(tmp_path / "pipe")) == 2
    assert "it is not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no subcommand is named"),
        (["look", "x"], "one of: list, show, verify, diff, prune"),
        (["list"], "`./inv cache list FOLDER`"),
        (["list", "/no/such/folder"], "there is no such folder"),
        (["prune", "/tmp"], "--to is missing\n  next: say how much may stay: `./inv cache prune /tmp --to 300M`"),
        (["prune", "/tmp", "--to=x"], "not a size"),
        (["show", "/tmp"], "that is a folder\n  next: give one of its files: `./inv cache list /tmp` lists them"),
        (["diff", "/tmp", "/tmp"], "that is a folder"),
        (["list", "/etc/hostname"], "that is a file"),
        (["show", "/etc/hostname"], "/etc/hostname"),
    ],
)
def test_misuse_is_told(words, said, capsys):
    assert inv("cache", *words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("12", 12), ("3K", 3072), ("1.5m", 3 << 19), ("2GiB", 2 << 30), ("1 GB", 1 << 30)]
)
def test_sizes_are_read(text, size):
    assert caches.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "-1", "1T", "1e99", "9" * 30])
def test_what_is_no_size_is_told(text):
    with pytest.raises(Misuse, match="not a size"):
        caches.parse_size(text)
