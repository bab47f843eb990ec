"""The history: every sample of every launch of every session, in one SQLite file that several processes may use.

    sessions 1─n cells 1─n launches 1─n samples; launches n─1 facts; baselines: a name for a cell of an earlier session.

Each launch is written in one transaction, so a session that is cut off keeps all that it had; its state says so.
"""

import contextlib
import hashlib
import json
import sqlite3
import threading
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_tools.base import settings
from host_tools.base.errors import HistoryUnusable
from host_tools.judge.regression.launch import Launch

_APPLICATION, _VERSION = 0x51524448, 1  # "QRDH"
_WAIT_S = 60.0  # for another process that writes
RUNNING, COMPLETE, INTERRUPTED, BROKEN = "running", "complete", "interrupted", "broken"
_TABLES = """
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY, suite TEXT NOT NULL, started REAL NOT NULL, ended REAL, folder TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'complete', 'interrupted', 'broken'))) STRICT;
CREATE TABLE cells (
  id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE, key TEXT NOT NULL,
  device TEXT NOT NULL, library TEXT NOT NULL, conditions TEXT NOT NULL, UNIQUE (session, key, device)) STRICT;
CREATE INDEX cells_by_key ON cells (key, device);
CREATE TABLE facts (digest TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE launches (
  id INTEGER PRIMARY KEY, cell INTEGER NOT NULL REFERENCES cells ON DELETE CASCADE, number INTEGER NOT NULL,
  at REAL NOT NULL, state TEXT NOT NULL CHECK (state IN ('complete', 'failed', 'interrupted')), error TEXT NOT NULL,
  exit_code INTEGER NOT NULL, folder TEXT NOT NULL, facts TEXT NOT NULL REFERENCES facts) STRICT;
CREATE INDEX launches_by_cell ON launches (cell);
CREATE TABLE samples (
  launch INTEGER NOT NULL REFERENCES launches ON DELETE CASCADE, name TEXT NOT NULL, count INTEGER NOT NULL,
  numbers BLOB NOT NULL, PRIMARY KEY (launch, name)) STRICT, WITHOUT ROWID;
CREATE TABLE baselines (
  name TEXT NOT NULL, key TEXT NOT NULL, device TEXT NOT NULL, saved REAL NOT NULL,
  cell INTEGER NOT NULL REFERENCES cells ON DELETE CASCADE, PRIMARY KEY (name, key, device)) STRICT, WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Stored:
    """One cell of an earlier session."""

    id: int
    session: int
    suite: str
    started: float
    state: str  # of its session
    library: str
    conditions: dict[str, Any]
    launches: tuple[Launch, ...]


class History:
    """One open file. Threads of a process share it; processes share the file."""

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.RLock()
        settings.make_folder(path.parent, "QUADRA_HISTORY")
        with self._errors():
            self._db = sqlite3.connect(path, timeout=_WAIT_S, check_same_thread=False, isolation_level=None)
            try:
                self._open()
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> "History":
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def begin(self, suite: str, folder: Path) -> int:
        """A new session, running; its number."""
        with self._change() as db:
            row = db.execute(
                "INSERT INTO sessions (suite, started, folder, state) VALUES (?, ?, ?, ?) RETURNING id",
                (suite, time.time(), str(folder), RUNNING),
            )
            return int(row.fetchone()[0])

    def begun(self, folder: Path) -> tuple[int, str, float] | None:
        """The session that writes into a folder: its number, its suite and when it began."""
        with self._errors(), self._lock:
            rows = self._db.execute("SELECT id, suite, started, folder FROM sessions ORDER BY id DESC").fetchall()
        return next((row[:3] for row in rows if Path(row[3]).resolve() == folder.resolve()), None)

    def go_on(self, session: int) -> None:
        """Says that a session runs again."""
        with self._change() as db:
            db.execute("UPDATE sessions SET state = ?, ended = NULL WHERE id = ?", (RUNNING, session))

    def end(self, session: int, state: str) -> None:
        with self._change() as db:
            db.execute("UPDATE sessions SET state = ?, ended = ? WHERE id = ?", (state, time.time(), session))

    def cell(self, session: int, key: str, device: str) -> int:
        """A cell of a session, of which nothing is known yet if it is new; its number."""
        with self._change() as db:
            row = db.execute(
                "INSERT INTO cells (session, key, device, library, conditions) VALUES (?, ?, ?, '', '{}')"
                " ON CONFLICT (session, key, device) DO UPDATE SET key = key RETURNING id",
                (session, _text(key), _text(device)),
            )
            return int(row.fetchone()[0])

    def cells(self, session: int) -> list[tuple[int, str, str]]:
        """Number, key and device of each cell of a session."""
        with self._errors(), self._lock:
            rows = self._db.execute("SELECT id, key, device FROM cells WHERE session = ? ORDER BY id", (session,))
            return rows.fetchall()

    def describe(self, cell: int, library: str, conditions: Mapping[str, Any]) -> None:
        with self._change() as db:
            words = (library, _json(conditions), cell)
            db.execute("UPDATE cells SET library = ?, conditions = ? WHERE id = ?", words)

    def add(self, cell: int, launch: Launch) -> None:
        """Writes one launch with all its samples, or nothing of it."""
        body = _json(launch.facts)
        digest = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
        with self._change() as db:
            db.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (digest, body))
            row = db.execute(
                "INSERT INTO launches (cell, number, at, state, error, exit_code, folder, facts)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (
                    cell,
                    launch.number,
                    launch.at,
                    launch.state,
                    _text(launch.error),
                    launch.exit_code,
                    _text(launch.folder),
                    digest,
                ),
            )
            number = row.fetchone()[0]
            rows = [(number, _text(n), len(v), array("d", v).tobytes()) for n, v in launch.samples.items()]
            db.executemany("INSERT INTO samples VALUES (?, ?, ?, ?)", rows)

    def save(self, name: str, cells: Sequence[int]) -> None:
        """Gives these cells a name; what had it before on the same device loses it."""
        with self._change() as db:
            db.executemany(
                "INSERT OR REPLACE INTO baselines SELECT ?, key, device, ?, id FROM cells WHERE id = ?",
                [(_text(name), time.time(), cell) for cell in cells],
            )

    def names(self) -> list[str]:
        with self._errors(), self._lock:
            return [row[0] for row in self._db.execute("SELECT DISTINCT name FROM baselines ORDER BY name")]

    def baseline(self, name: str, key: str, device: str) -> Stored | None:
        """The cell that has this name, if any on this device."""
        with self._errors(), self._lock:
            row = self._db.execute(
                "SELECT cell FROM baselines WHERE name = ? AND key = ? AND device = ?",
                (_text(name), _text(key), _text(device)),
            ).fetchone()
        return self.stored(row[0]) if row else None

    def devices(self, name: str, key: str) -> list[str]:
        """On which devices a name is known."""
        with self._errors(), self._lock:
            words = (_text(name), _text(key))
            rows = self._db.execute("SELECT device FROM baselines WHERE name = ? AND key = ?", words)
            return [row[0] for row in rows]

    def past(self, key: str, device: str, before: int, count: int = 30) -> list[Stored]:
        """The cells of earlier sessions, oldest first."""
        with self._errors(), self._lock:
            rows = self._db.execute(
                "SELECT id FROM cells WHERE key = ? AND device = ? AND session < ? ORDER BY id DESC LIMIT ?",
                (_text(key), _text(device), before, count),
            ).fetchall()
        return [self.stored(row[0]) for row in reversed(rows)]

    def stored(self, cell: int) -> Stored:
        with self._errors(), self._lock:
            row = self._db.execute(
                "SELECT c.id, s.id, s.suite, s.started, s.state, c.library, c.conditions FROM cells c"
                " JOIN sessions s ON s.id = c.session WHERE c.id = ?",
                (cell,),
            ).fetchone()
            number, session, suite, started, state, library, conditions = row
            launches = tuple(self._launches(cell))
            return Stored(number, session, suite, started, state, library, json.loads(conditions), launches)

    def _launches(self, cell: int) -> Iterator[Launch]:
        samples: dict[int, dict[str, list[float]]] = {}
        for number, name, count, numbers in self._db.execute(
            "SELECT launch, name, count, numbers FROM samples JOIN launches ON id = launch WHERE cell = ?", (cell,)
        ):
            values = array("d")
            values.frombytes(numbers)
            if len(values) != count:
                raise sqlite3.DatabaseError(f"the series {name} of launch {number} is cut off")
            samples.setdefault(number, {})[name] = values.tolist()
        for row, number, at, state, error, exit_code, folder, body in self._db.execute(
            "SELECT l.id, l.number, l.at, l.state, l.error, l.exit_code, l.folder, f.body FROM launches l"
            " JOIN facts f ON f.digest = l.facts WHERE l.cell = ? ORDER BY l.number",
            (cell,),
        ):
            yield Launch(number, at, state, error, exit_code, folder, samples.get(row, {}), json.loads(body))

    def _open(self) -> None:
        """Makes an empty file a history, and leaves alone what is not one."""
        self._db.execute("PRAGMA foreign_keys = ON")
        with self._change() as db:
            application = db.execute("PRAGMA application_id").fetchone()[0]
            version = db.execute("PRAGMA user_version").fetchone()[0]
            tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
            if not application and not version and not tables:
                for statement in _TABLES.split(";\n"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {_APPLICATION}")
                db.execute(f"PRAGMA user_version = {_VERSION}")
            elif application != _APPLICATION:
                raise self._unusable("it is a database of another program")
            elif version != _VERSION:
                raise self._unusable(f"its version is {version}, this Quadra writes {_VERSION}")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        found = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise self._unusable(f"it is damaged ({found})")

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """All of what is done inside, or nothing; others wait."""
        with self._errors(), self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise self._unusable(f"SQLite says: {error}") from error
        except (sqlite3.DatabaseError, ValueError, TypeError) as error:
            raise self._unusable(f"it is damaged, or no history ({error})") from error

    def _unusable(self, came_back: str) -> HistoryUnusable:
        do_next = "move it away to begin a new one, or set QUADRA_HISTORY to another file"
        return HistoryUnusable(f"read the history {self.path}", came_back, do_next)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True)


def _text(value: str) -> str:
    """SQLite refuses lone surrogates."""
    return value.encode("utf-8", "replace").decode("utf-8")
