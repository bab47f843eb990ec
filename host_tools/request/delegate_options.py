"""`--options self_check=1,tuning=fast`: options of the delegate that no task has a flag for. It checks their values."""

import re
from collections.abc import Mapping

from host_tools.base import installed
from host_tools.base.errors import Misuse

_TABLE = installed.SOURCES / "delegate_native" / "delegate" / "options.def"
_ROW = re.compile(r"^QUADRA_OPTION\((\w+),", re.MULTILINE)
# Who else sets them, and what to do for that.
_ELSEWHERE = {
    "backend": "give --backend",
    "precision": "give --precision",
    "target": "give --target",
    "float32_nodes": "give --float32-nodes of `inv run`",
    "serialization_dir": "give --cache of `inv run`",
    "profile": "give --profile of `inv run`",
    "dump_dir": "omit it: the run folder has what it writes",
    "dump_tensors": "use `inv bisect`, which keeps every tensor",
}
_BEFORE = "give --precision, which comes before it: docs/options.md"  # what it would decide is decided
_ELSEWHERE |= {f"inference_priority{place}": _BEFORE for place in (1, 2, 3)}
_OF_NODES = ("float32_nodes", "first_delegate_node_index", "last_delegate_node_index")  # by the model's own numbers


def names() -> tuple[str, ...]:
    """All options of the delegate, in the order of its table."""
    return tuple(_ROW.findall(_TABLE.read_text()))


def parse(words: str) -> dict[str, str]:
    """`name=value,name=value` as a dict. Misuse: a name that is none or has a flag of its own, what the flag for precision
    decides, a name without a value or given twice."""
    found: dict[str, str] = {}
    known = [name for name in names() if name not in _ELSEWHERE]
    for pair in filter(None, words.split(",")):
        name, _, value = (part.strip() for part in pair.partition("="))
        tried = f"read --options {words!r}"
        if name in _ELSEWHERE:
            raise Misuse(tried, f"{name} is set in another way", _ELSEWHERE[name])
        if (name, value) == ("is_precision_loss_allowed", "1"):
            raise Misuse(tried, f"{name} is set in another way", _BEFORE)
        if name not in known:
            raise Misuse(tried, f"the delegate has no option {name!r}", f"one of: {', '.join(known)}")
        if not value or name in found:
            came_back = f"{name} is given twice" if value else f"{name} has no value"
            raise Misuse(tried, came_back, "give each as NAME=VALUE, with a comma between them: docs/options.md")
        found[name] = value
    return found


def words(options: Mapping[str, str]) -> str:
    """Those of `options` that `--options` takes, as its value; empty: none."""
    return ",".join(f"{name}={value}" for name, value in options.items() if name not in _ELSEWHERE and value)


def of_part(options: Mapping[str, str]) -> dict[str, str]:
    """The same for a model that was cut out, whose nodes have other numbers."""
    return {name: value for name, value in options.items() if name not in _OF_NODES}
