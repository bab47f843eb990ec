"""Tables for the terminal. No number is ever shortened: texts are folded, and columns that still have no room are left out.

(rich's own tables cut cells where they have no room, numbers too.)
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from host_tools.base.readable import in_encoding
from host_tools.base.short_names import NAME
from host_tools.base.terminal import ENDLESS

_GAP = 2
_NOTHING = ("", "–", "-")
_CONTROL = {code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160)) if chr(code) != "\n"}
_NUMBER = re.compile(r"\d[\d.×]*(?:e[+-]?\d+)?")
_BREAK = re.compile(r"\s+(?!%)|[/,;:)\]}|=&?](?!\s)|(?<=\w)[._+-](?![\d\s])")  # a line may end behind these


@dataclass(frozen=True)
class Column:
    """A column of a table.

    rank: 0 stays at any width. Where there is no room for all, the columns of the highest rank go first, and all of one
    rank together. least: the width that its texts may be folded to; 0: they never are. middle: its texts lose their middle
    where they would be folded.
    """

    name: str
    rank: int = 0
    least: int = 0
    right: bool = False
    middle: bool = False


def number(name: str, rank: int = 0) -> Column:
    """For numbers and shapes: on the right, never folded."""
    return Column(name, rank, right=True)


def word(name: str, rank: int = 0) -> Column:
    """For verdicts and other short words: never folded."""
    return Column(name, rank)


def text(name: str, rank: int = 0, least: int = 16) -> Column:
    """For sentences, lists and names: folded where there is no room."""
    return Column(name, rank, least)


def identifier(name: str, rank: int = 0, least: int = 24) -> Column:
    """For long names that programs made, as tensors have: their middle goes where there is no room, and in a pipe beyond 48
    columns. Converters make names of hundreds of letters, and the figures beside one stay in sight in a log."""
    return Column(name, rank, least, middle=True)


@dataclass
class Table:
    """Rows under the names of columns. A column whose cells all say nothing is not shown. Cells may have rich's markup."""

    columns: Sequence[Column]
    title: str = ""
    rows: list[Sequence[str]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        """The last one of too few cells goes on over the columns that follow."""
        if len(cells) > len(self.columns):
            raise ValueError(f"{len(cells)} cells, {len(self.columns)} columns")
        self.rows.append(cells)

    def show(self, console: Console) -> None:
        """Prints it, no wider than the console, unless the columns of rank 0 alone are."""
        if self.title:
            console.print(f"[bold]{self.title}[/]", highlight=False, emoji=False)
        layout = _Layout(self, console)
        console.print(Text("\n").join(layout.lines()), soft_wrap=True, highlight=False)
        if layout.left_out:
            names = "; ".join(dict.fromkeys(self.columns[i].name.replace("\n", " ") for i in layout.left_out))
            hint = f"a terminal of {layout.needed} columns or a pipe (| cat) shows all"
            console.print(f"[dim]no room for {names}: {hint}[/]", highlight=False, emoji=False)


class _Layout:
    """Which columns a table has at a console's width, and how wide each is.

    left_out: those without room. needed: the least width with room for all.
    """

    def __init__(self, table: Table, console: Console) -> None:
        def cell(markup: str, style: str = "") -> Text:
            written = in_encoding(markup, console.encoding).translate(_CONTROL)
            return Text.from_markup(written, style=style, emoji=False)

        self._columns, self._endless = table.columns, console.width >= ENDLESS
        self._heads = [cell(column.name, "dim") for column in table.columns]
        self._rows = [[cell(one) for one in row] for row in table.rows]
        there = [i for i in range(len(table.columns)) if not self._says_nothing(i)]
        self._bounds = {i: self._bounds_of(i) for i in there}
        self.needed = self._least(there)
        self._shown = there
        while self._least(self._shown) > console.width and (rank := max(table.columns[i].rank for i in self._shown)):
            self._shown = [i for i in self._shown if table.columns[i].rank < rank]
        self.left_out = [i for i in there if i not in self._shown]
        self._room = max(console.width, self._least(self._shown))
        self._widths = self._fitted()

    def lines(self) -> Iterator[Text]:
        """The names of the columns, if they have any, and the rows."""
        heads = _block([(self._columns[i], self._heads[i], self._widths[i]) for i in self._shown])
        if any(head.plain for head in heads):
            yield from heads
        for row in self._rows:
            yield from _block(list(self._placed(row)))

    def _placed(self, row: Sequence[Text]) -> Iterator[tuple[Column, Text, int]]:
        """The cells that are shown, in their columns; the last of too few has all of the room that is left."""
        at, last = 0, len(row) - 1
        for i in self._shown:
            if i >= last and len(row) < len(self._columns):
                yield text(""), row[last], self._room - at
                return
            yield self._columns[i], row[i], self._widths[i]
            at += self._widths[i] + _GAP

    def _says_nothing(self, index: int) -> bool:
        cells = [row[index].plain.strip() for row in self._rows if index < len(row)]
        return bool(self._rows) and all(cell in _NOTHING for cell in cells)

    def _bounds_of(self, index: int) -> tuple[int, int]:
        """The least and the greatest width of a column whose name is folded."""
        wide = max(map(_width, self._cells(index)), default=0)
        wide = min(wide, NAME) if self._endless and self._columns[index].middle else wide
        longest_word = max(map(cell_len, self._heads[index].plain.split()), default=0)
        return max(min(wide, self._columns[index].least or wide), longest_word), max(wide, longest_word)

    def _cells(self, index: int) -> list[Text]:
        """Of a column, without those that go on over others."""
        return [row[index] for row in self._rows if index < len(row) - (len(row) < len(self._columns))]

    def _least(self, indices: Sequence[int]) -> int:
        return sum(self._bounds[i][0] + _GAP for i in indices) - _GAP

    def _fitted(self) -> dict[int, int]:
        """Names of columns are folded before texts, and of these the widest first."""
        room = self._room - _GAP * (len(self._shown) - 1)
        widths = {i: max(self._bounds[i][1], _width(self._heads[i])) for i in self._shown}
        if sum(widths.values()) <= room:
            return widths
        widest = max(high for _, high in self._bounds.values())
        for most in range(min(room, widest), -1, -1):
            widths = {i: max(self._bounds[i][0], min(self._bounds[i][1], most)) for i in self._shown}
            if sum(widths.values()) <= room:
                break
        return {i: self._used(i, width) for i, width in widths.items()}

    def _used(self, index: int, width: int) -> int:
        """How much of `width` a column takes once its texts are folded."""
        if self._columns[index].middle:
            return width
        head = _folded(self._heads[index], width)
        cells = (_lines(cell, width, self._columns[index]) for cell in self._cells(index))
        return max(line.cell_len for lines in (head, *cells) for line in lines)


def _width(cell: Text) -> int:
    return max(map(cell_len, cell.plain.split("\n")))


def _block(cells: Sequence[tuple[Column, Text, int]]) -> list[Text]:
    """A row: as many lines as its longest cell."""
    block = []
    for parts in zip_longest(*(_lines(cell, width, column) for column, cell, width in cells), fillvalue=Text()):
        line, owed = Text(), 0
        for (column, _, width), part in zip(cells, parts):
            blanks = width - part.cell_len
            if part.plain:
                line.append(" " * (owed + blanks * column.right)).append_text(part)
                owed = 0
            owed += _GAP + (0 if column.right and part.plain else blanks)
        block.append(line)
    return block


def _lines(cell: Text, width: int, column: Column) -> list[Text]:
    return [_without_middle(line, width) for line in cell.split("\n")] if column.middle else _folded(cell, width)


def _without_middle(cell: Text, width: int) -> Text:
    """Of a name; digits beside the gap go, too: what is left of a number would be another."""
    if cell.cell_len <= width:
        return cell
    head = cell.plain[: _fitting(cell.plain, width // 2)].rstrip("0123456789.")
    tail = cell.plain[len(cell) - _fitting(cell.plain[::-1], width - 1 - width // 2) :].lstrip("0123456789.")
    return cell[: len(head)] + Text("…") + cell[len(cell) - len(tail) :]


def _folded(cell: Text, width: int) -> list[Text]:
    """In lines of at most `width`, between words, behind punctuation, or anywhere but in a number."""
    lines: list[Text] = []
    for line in cell.split("\n", allow_blank=True):
        if line.cell_len <= width:
            lines.append(line)
            continue
        cuts, start, end = [], 0, 0
        for piece in _pieces(line.plain, width):
            if start < end and cell_len(line.plain[start : end + len(piece)].rstrip()) > width:
                cuts.append(end)
                start = end
            end += len(piece)
        lines += line.divide(cuts)
    for line in lines:
        line.rstrip()
    return lines


def _pieces(plain: str, width: int) -> Iterator[str]:
    """Parts that stay on one line, none wider than `width`."""
    start = 0
    for end in (*(match.end() for match in _BREAK.finditer(plain)), len(plain)):
        while cell_len(plain[start:end].rstrip()) > width:
            cut = start + max(1, _fitting(plain[start:end], width))
            within = next((m for m in _NUMBER.finditer(plain, start, end) if m.start() < cut < m.end()), None)
            cut = within.start() if within and within.start() > start else cut
            yield plain[start:cut]
            start = cut
        yield plain[start:end]
        start = end


def _fitting(plain: str, width: int) -> int:
    """How many characters of a text fit."""
    taken = 0
    for count, one in enumerate(plain):
        taken += cell_len(one)
        if taken > width:
            return count
    return len(plain)
