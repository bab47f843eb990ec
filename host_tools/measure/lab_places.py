"""The devices of a lab as places."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from host_tools.base.errors import Misuse
from host_tools.base.units import size_text
from host_tools.places.place import Place

There = Callable[[str], bool]  # whether a device of the lab is there, by its full name


@contextlib.contextmanager
def of(
    address: str, on: str, library: Path | None, say: Callable[[str], None]
) -> Iterator[tuple[Sequence[Place], There]]:
    """The devices of the lab whose scheduler has this address, while connected; Misuse where there is a word of --on, too.

    say: told what the lab has, and what it was sent.
    """
    from host_tools.places.lab.client import Lab, listed  # dask is slow to load
    from host_tools.places.lab.on_lab import LabDevice

    if on:
        raise Misuse("run with --lab and --on", "the lab says which devices there are", "omit one")
    with Lab(address) as connected:
        offered = connected.devices()
        say(f"lab         {connected.address}: {listed(offered)}: {', '.join(one.full_name for one in offered)}")
        for reason in connected.left_out:
            say(f"not offered {reason}")
        yield [LabDevice(connected, one, library) for one in offered], connected.there
        sent = ", ".join(f"{host} {size_text(count)}" for host, count in sorted(connected.sent_bytes.items()))
        say(f"sent        {sent or 'nothing: the hosts had all files'}")
