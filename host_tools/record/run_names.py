"""The names of folders among the runs, and which of them a word means.

A run is STAMP-MODEL, a bench bench-STAMP-MODEL, or bench-STAMP of several models, a regression run regress-STAMP-SUITE, a
parity run parity-STAMP. Stamps sort by time.
"""

import re
from collections.abc import Sequence

from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import Misuse

LATEST = "latest"
KINDS = ("bench", "regress", "parity")  # what the names of others than runs begin with
_STAMP = re.compile(rf"(?:(?:{'|'.join(KINDS)})-)?\d{{8}}-\d{{6}}(?:-\d{{3}}(?!\d))?-?")
_MOST_LISTED = 5


def part_of_name(name: str) -> str:
    """A model's or a suite's name as names of folders have it."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._-")[:60]


def subject(folder: str) -> str:
    """The model or suite that the name of a folder ends with; empty: it names none."""
    found = _STAMP.match(folder)
    return folder[found.end() :] if found else ""


def kind(folder: str) -> str:
    """One of KINDS; empty: a run."""
    return next((one for one in KINDS if folder.startswith(f"{one}-")), "")


def fitting(word: str, names: Sequence[str]) -> list[str]:
    """Those of `names` that a word means, in their order: the one of that name; those that begin with it; those of that
    model or suite; or, if there are none, those whose model or suite begins with it."""
    if not word or word in names:
        return [word] if word in names else []
    if begun := [one for one in names if one.startswith(word)]:
        return begun
    asked = part_of_name(word.removesuffix(".tflite"))
    whole = [one for one in names if asked and subject(one) == asked]
    return whole or [one for one in names if asked and subject(one).startswith(asked)]


def chosen(word: str, names: Sequence[str], tried: str, runs: str) -> str:
    """The one of `names`, the newest last, that a word means. Of several runs of one model, and of one kind, the newest.

    Misuse: there is none, or the word fits several. runs: the folder that they are in.
    """
    fits = fitting(word, names)
    same_subject = len({subject(one) for one in fits}) == 1 and not fits[0].startswith(word)
    if fits and (len(fits) == 1 or same_subject or word in KINDS):
        return fits[-1]
    came_back = f"{len(fits)} folders match" if fits else f"no folder of {runs} has that name or is of such a model"
    do_next = f"give a path, or one of: {', '.join((fits or list(names))[-_MOST_LISTED:])}"
    subjects = dict.fromkeys(filter(None, map(subject, names)))
    raise Misuse(tried, came_back, do_next if fits else did_you_mean(word, [LATEST, *names, *subjects], do_next))
