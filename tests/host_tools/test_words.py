"""Names and phrases that were replaced by the field's own do not come back."""

from __future__ import annotations

import subprocess

import pytest

from host_tools.base.settings import ROOT

# What was written, and what is written now.
REPLACED = {
    "Winograd's way": "Winograd's algorithm",
    "few_texts": "merge_similar_sources",
    "idle rounding": "redundant rounding",
    "idle_rounding": "redundant_rounding",
    "HomeProcess": "ForkGuard",
    "QUADRA_MAKER": "QUADRA_TOOLCHAIN",
    "half ends at": "float16's maximum is",
    "numbers beyond half": "values out of float16's range",
    "did not come to its end": "did not finish",
    "says no more": "at the limit of float32 precision",
    "write down the plan": "save the plan",
    "memory and words": "memory and metadata",
    "serves on after": "keeps working after",
    "instead of the account": "instead of the tables",
    "it is no size": "not a size",
    "one input arrives wrong": "an input is corrupted on upload",
    "a look in two minutes": "a two-minute check",
}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Sources and pages, by path."""
    argv = [
        "git",
        "ls-files",
        "-z",
        "delegate_native",
        "bazel",
        "docs",
        "host_tools",
        "android_app",
        "tasks.py",
        "*.md",
    ]
    names = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    paths = [ROOT / name for name in names if name]
    return {str(path): path.read_text(errors="replace") for path in paths if path.is_file()}


@pytest.mark.parametrize("word", REPLACED)
def test_a_replaced_word_is_gone(pages, word):
    found = [path for path, text in pages.items() if word.lower() in text.lower()]
    assert len(pages) > 300 and not found, f"write {REPLACED[word]}"


@pytest.mark.parametrize("head", ["What", "Who", "Whose", "Of", "Beside"])
def test_comments_begin_with_what_a_thing_is(head):
    """ "The limits of a device", and not "What a device allows": the reader need not wait for the end of the sentence."""
    pattern = rf"(^|\s)(//|#|/\*+|\*)\s*{head}\b"
    argv = ["git", "grep", "-nE", pattern, "--", "delegate_native", "bazel", "android_app", "gradle", ".bazelrc"]
    found = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode in (0, 1), found.stderr
    # A sentence's second line may begin so.
    heads = [line for line in found.stdout.splitlines() if not _goes_on(line)]
    assert not heads, "\n".join(heads)


def _goes_on(found: str) -> bool:
    """Whether the line before is a comment whose sentence has not ended."""
    path, number, _ = found.split(":", 2)
    if int(number) == 1:
        return False
    before = (ROOT / path).read_text().splitlines()[int(number) - 2].strip()
    return before.startswith(("//", "#", "*", "/*")) and not before.endswith((".", ":", "*/", "/**"))
