"""Names of hundreds of letters, which programs make for tensors, without their middle. (A module of its own: processes that run
models need no tables.)"""

NAME = 48  # columns, where a line has no end
_NUMBER = "0123456789."  # beside the gap goes, too: what is left of a number would be another


def short(name: str, columns: int = NAME) -> str:
    """A name for a sentence."""
    if len(name) <= columns:
        return name
    head, tail = name[: columns // 2], name[len(name) - (columns - 1 - columns // 2) :]
    return f"{head.rstrip(_NUMBER)}…{tail.lstrip(_NUMBER)}"
