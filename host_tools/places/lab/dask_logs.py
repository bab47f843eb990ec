"""dask's own messages, and errors that it raises."""

import logging


def silence() -> None:
    """What matters is said in our words. dask gives each of its loggers a level: all of them have to be told. asyncio
    speaks of tasks that dask forgot, as late as at the end of the process."""
    for name in ("distributed", "asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def first_line(error: BaseException) -> str:
    """What it says, or its name where it says nothing, as time-outs do."""
    return next(iter(str(error).splitlines()), "")[:200] or type(error).__name__
