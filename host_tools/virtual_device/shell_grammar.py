"""From the tokens of a shell program to its tree, by recursive descent."""

from typing import List, Optional, Sequence

from host_tools.virtual_device.shell_words import (
    MAX_DEPTH,
    Command,
    For,
    Group,
    If,
    Lexer,
    List_,
    Loop,
    Operator,
    Pipeline,
    Redirection,
    Simple,
    SyntaxFault,
    Text,
    Token,
)

_OPENING = ("if", "while", "until", "for", "{", "case", "function")
_CLOSING = ("then", "elif", "else", "fi", "do", "done", "}", "esac")


def parse(text: str) -> List_:
    """The program as a list of pipelines; SyntaxFault when it is none."""
    reader = _Reader(Lexer(text).tokens())
    program = reader.list(())
    if reader.peek() is not None:
        raise SyntaxFault(f"syntax error: unexpected '{_shown(reader.peek())}'")
    return program


def _shown(token: Optional[Token]) -> str:
    if token is None:
        return "EOF"
    if isinstance(token, Operator):
        return "newline" if token == "\n" else str(token)
    return _keyword(token) or "word"


def _keyword(token: Optional[Token]) -> str:
    """The text of a word without quotes; empty for anything else."""
    if isinstance(token, tuple) and not isinstance(token, Redirection) and len(token) == 1:
        part = token[0]
        if isinstance(part, Text) and not part.quoted:
            return part.text
    return ""


class _Reader:
    def __init__(self, tokens: List[Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def peek(self) -> Optional[Token]:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self) -> Optional[Token]:
        token = self.peek()
        self._at += 1
        return token

    def _is(self, *operators: str) -> bool:
        token = self.peek()
        return isinstance(token, Operator) and str(token) in operators

    def _expect(self, word: str) -> None:
        token = self._take()
        if _keyword(token) != word and not (isinstance(token, Operator) and token == word):
            raise SyntaxFault(f"syntax error: unexpected '{_shown(token)}', expecting '{word}'")

    def list(self, ends: Sequence[str]) -> List_:
        """Pipelines up to one of these words, `)` or the end."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SyntaxFault("syntax error: nested too deeply")
        found: List_ = []
        join = ""
        while True:
            while self._is(";", "\n") and not (join and self._is(";")):
                self._take()
            if self.peek() is None or self._is(")") or _keyword(self.peek()) in ends:
                break
            found.append((join, self._pipeline()))
            join = ""
            if self._is("&&", "||"):
                join = str(self._take())
            elif self._is("&"):
                raise SyntaxFault("syntax error: & is not understood by this shell")
            elif not self._is(";", "\n", ")") and self.peek() is not None:
                raise SyntaxFault(f"syntax error: unexpected '{_shown(self.peek())}'")
        if join:
            raise SyntaxFault(f"syntax error: unexpected '{_shown(self.peek())}'")
        self._depth -= 1
        return found

    def _body(self, *ends: str) -> List_:
        body = self.list(ends)
        if not body:
            raise SyntaxFault(f"syntax error: unexpected '{_shown(self.peek())}'")
        return body

    def _pipeline(self) -> Pipeline:
        negated = _keyword(self.peek()) == "!"
        if negated:
            self._take()
        commands = [self._command()]
        while self._is("|"):
            self._take()
            while self._is("\n"):
                self._take()
            commands.append(self._command())
        return Pipeline(commands, negated)

    def _command(self) -> Command:
        word = _keyword(self.peek())
        if word in _CLOSING or word in ("case", "function"):
            raise SyntaxFault(f"syntax error: unexpected '{word}'")
        if self._is("("):
            self._take()
            found: Command = Group(self._body(), True)
            self._expect(")")
        elif word in _OPENING:
            self._take()
            found = {"{": self._group, "if": self._if, "for": self._for}.get(word, lambda: self._loop(word))()
        else:
            return self._simple()
        while isinstance(self.peek(), Redirection):
            found.redirections.append(self._take())
        return found

    def _simple(self) -> Simple:
        simple = Simple()
        while True:
            token = self.peek()
            if isinstance(token, Redirection):
                simple.redirections.append(token)
            elif token is None or isinstance(token, Operator):
                break
            else:
                simple.words.append(token)
            self._take()
        if not simple.words and not simple.redirections or self._is("("):
            raise SyntaxFault(f"syntax error: unexpected '{_shown(self.peek())}'")
        return simple

    def _group(self) -> Group:
        body = self._body("}")
        self._expect("}")
        return Group(body, False)

    def _if(self) -> If:
        branches, otherwise = [], None
        while True:
            condition = self._body("then")
            self._expect("then")
            branches.append((condition, self._body("elif", "else", "fi")))
            word = _keyword(self._take())
            if word == "else":
                otherwise = self._body("fi")
                self._expect("fi")
            elif word != "elif" and word != "fi":
                raise SyntaxFault("syntax error: 'if' without 'fi'")
            if word != "elif":
                return If(branches, otherwise)

    def _loop(self, word: str) -> Loop:
        condition = self._body("do")
        self._expect("do")
        body = self._body("done")
        self._expect("done")
        return Loop(condition, body, word == "until")

    def _for(self) -> For:
        name = _keyword(self._take())
        if not name.isidentifier():
            raise SyntaxFault("syntax error: 'for' without a name")
        self._expect("in")
        words = []
        while self.peek() is not None and not isinstance(self.peek(), (Operator, Redirection)):
            words.append(self._take())
        while self._is(";", "\n"):
            self._take()
        self._expect("do")
        body = self._body("done")
        self._expect("done")
        return For(name, words, body)
