"""The grammar of the device's shell: from text to a tree. The part of POSIX that people send over adb.

Lists, pipes, quotes, redirections, variables, command substitution, if, for, while and groups are understood;
functions, arithmetic, here-documents and job control are not, and are refused.
"""

from dataclasses import dataclass, field
from typing import List, NamedTuple, Optional, Tuple, Union


class SyntaxFault(Exception):
    """The text is not a program of this shell."""


@dataclass(frozen=True)
class Text:
    text: str
    quoted: bool


@dataclass(frozen=True)
class Variable:
    name: str
    quoted: bool
    operator: str = ""  # of ${name:-word} and its like
    word: str = ""


@dataclass(frozen=True)
class Substitution:
    program: str  # run, and replaced by what it writes
    quoted: bool


Part = Union[Text, Variable, Substitution]
Word = Tuple[Part, ...]


class Redirection(NamedTuple):
    descriptor: int
    kind: str  # "<", ">", ">>" or ">&"
    target: Word


@dataclass
class Simple:
    words: List[Word] = field(default_factory=list)
    redirections: List[Redirection] = field(default_factory=list)


@dataclass
class Group:
    body: "List_"
    own: bool  # ( ): variables and the folder stay as they were
    redirections: List[Redirection] = field(default_factory=list)


@dataclass
class If:
    branches: List[Tuple["List_", "List_"]]
    otherwise: Optional["List_"]
    redirections: List[Redirection] = field(default_factory=list)


@dataclass
class Loop:
    condition: "List_"
    body: "List_"
    until: bool
    redirections: List[Redirection] = field(default_factory=list)


@dataclass
class For:
    name: str
    words: List[Word]
    body: "List_"
    redirections: List[Redirection] = field(default_factory=list)


Command = Union[Simple, Group, If, Loop, For]


@dataclass
class Pipeline:
    commands: List[Command]
    negated: bool


List_ = List[Tuple[str, Pipeline]]  # ("" or "&&" or "||": how it follows the one before)


class Operator(str):
    """A token that is not a word."""


Token = Union[Word, Operator, Redirection]

_OPERATORS = ("&&", "||", ";;", ";", "\n", "|", "&", "(", ")")
_SPACE = " \t"
_NAME_FIRST = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_NAME = _NAME_FIRST + "0123456789"
MAX_DEPTH = 40


class Lexer:
    """Cuts text into tokens."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def tokens(self) -> List[Token]:
        found: List[Token] = []
        while True:
            self._skip_space()
            if self.at >= len(self.text):
                return found
            redirection = self._redirection()
            if redirection:
                found.append(redirection)
                continue
            operator = next((o for o in _OPERATORS if self.text.startswith(o, self.at)), None)
            if operator:
                self.at += len(operator)
                found.append(Operator(operator))
                continue
            found.append(self.word())

    def _skip_space(self) -> None:
        while self.at < len(self.text):
            if self.text.startswith("\\\n", self.at):
                self.at += 2
            elif self.text[self.at] in _SPACE:
                self.at += 1
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _redirection(self) -> Optional[Redirection]:
        at, descriptor = self.at, None
        if self.text[at] in "0123456789" and self.text[at + 1 : at + 2] in ("<", ">"):
            descriptor, at = int(self.text[at]), at + 1
        kind = next((k for k in ("<<", ">>", ">&", "<&", "&>", ">|", ">", "<") if self.text.startswith(k, at)), None)
        if kind is None:
            return None
        if kind in ("<<", "<&") or descriptor not in (None, 0, 1, 2):
            raise SyntaxFault(f"{kind} is not understood by this shell")
        self.at = at + len(kind)
        self._skip_space()
        target = self.word()
        if not target:
            raise SyntaxFault("syntax error: redirection without a name")
        if descriptor is None:
            descriptor = 0 if kind == "<" else 1
        return Redirection(-1 if kind == "&>" else descriptor, {"&>": ">", ">|": ">"}.get(kind, kind), target)

    def word(self) -> Word:
        parts: List[Part] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\n;|&()<>":
                break
            if char == "'":
                parts.append(Text(self._until("'"), True))
            elif char == '"':
                parts += self._double_quoted()
            elif char == "\\":
                taken = self.text[self.at + 1 : self.at + 2]
                self.at += 2
                if taken != "\n":
                    parts.append(Text(taken or "\\", True))
            elif char in "$`":
                parts.append(self._dollar(False))
            else:
                parts.append(Text(char, False))
                self.at += 1
        return tuple(_joined(parts))

    def _until(self, end: str) -> str:
        stop = self.text.find(end, self.at + 1)
        if stop < 0:
            raise SyntaxFault(f"syntax error: no closing quote {end}")
        taken = self.text[self.at + 1 : stop]
        self.at = stop + 1
        return taken

    def _double_quoted(self) -> List[Part]:
        parts: List[Part] = [Text("", True)]
        self.at += 1
        while True:
            char = self.text[self.at : self.at + 1]
            if not char:
                raise SyntaxFault('syntax error: no closing quote "')
            if char == '"':
                self.at += 1
                return parts
            if char == "\\" and self.text[self.at + 1 : self.at + 2] in tuple('$`"\\\n'):
                taken = self.text[self.at + 1]
                self.at += 2
                if taken != "\n":
                    parts.append(Text(taken, True))
            elif char in "$`":
                parts.append(self._dollar(True))
            else:
                parts.append(Text(char, True))
                self.at += 1

    def _dollar(self, quoted: bool) -> Part:
        if self.text[self.at] == "`":
            return Substitution(self._until("`"), quoted)
        following = self.text[self.at + 1 : self.at + 2]
        if self.text.startswith("$((", self.at):
            raise SyntaxFault("$(( )) is not understood by this shell")
        if following == "(":
            return Substitution(self._in_brackets(), quoted)
        if following == "{":
            self.at += 1
            return _braced(self._until("}"), quoted)
        if following and following in "?$#!@*0123456789":
            self.at += 2
            return Variable(following, quoted)
        end = self.at + 1
        if following and following in _NAME_FIRST:
            while end < len(self.text) and self.text[end] in _NAME:
                end += 1
        name = self.text[self.at + 1 : end]
        self.at = end
        return Variable(name, quoted) if name else Text("$", quoted)

    def _in_brackets(self) -> str:
        """The text between $( and its ), with quotes respected."""
        start = self.at = self.at + 2
        depth = 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "'":
                self._until("'")
                continue
            if char == '"':
                self._double_quoted()
                continue
            if char == "\\":
                self.at += 1
            depth += {"(": 1, ")": -1}.get(char, 0)
            self.at += 1
            if depth == 0:
                return self.text[start : self.at - 1]
        raise SyntaxFault("syntax error: $( without )")


def _braced(text: str, quoted: bool) -> Variable:
    end = 0
    while end < len(text) and (text[end] in _NAME or (end == 0 and text[0] in "?$#!@*")):
        end += 1
    name, rest = text[:end], text[end:]
    for operator in (":-", ":+", "-", "+"):
        if name and rest.startswith(operator):
            return Variable(name, quoted, operator, rest[len(operator) :])
    if not name or rest:
        raise SyntaxFault(f"${{{text}}}: bad substitution")
    return Variable(name, quoted)


def _joined(parts: List[Part]) -> List[Part]:
    """Neighbouring pieces of text as one."""
    whole: List[Part] = []
    for part in parts:
        last = whole[-1] if whole else None
        if isinstance(part, Text) and isinstance(last, Text) and last.quoted == part.quoted:
            whole[-1] = Text(last.text + part.text, part.quoted)
        else:
            whole.append(part)
    return whole
