"""The short options of toybox's commands."""

from typing import Dict, List, Tuple

from host_tools.virtual_device.call import BadOption, Call


def split(call: Call, flags: str, valued: str = "") -> Tuple[str, Dict[str, str], List[str]]:
    """The flags that were given, the options with a value, and the words; `--` ends the options.

    BadOption when there is another; call.run says so.
    """
    given, values, words = "", {}, []
    todo = call.argv[1:]
    while todo:
        word = todo.pop(0)
        if word == "--":
            words += todo
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        rest = word[1:]
        while rest:
            letter, rest = rest[0], rest[1:]
            if letter in valued:
                values[letter] = rest or (todo.pop(0) if todo else "")
                rest = ""
            elif letter in flags:
                given += letter
            else:
                raise BadOption(word)
    return given, values, words
