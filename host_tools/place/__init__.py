"""Where a run happens. Every place takes a RunSpec and leaves a run folder: same files, judged by the same code.

A place is a module with `library()`, the delegate that it wants (built if need be), and
`run(spec, library, show, runs_dir)`, which returns the finished RunFolder.
"""

import importlib
from types import ModuleType


def named(name: str, route: str = "") -> ModuleType:
    """The place of a RunSpec; its names were checked with the spec."""
    return importlib.import_module(f"host_tools.place.{name}{'_shell' if route == 'shell' else ''}")
