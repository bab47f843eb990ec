"""The tasks of `./inv`: each parses, calls one function of host_tools and prints. Imports stay inside the
tasks, so that listing them is quick. Exit status: 0 done, 1 the judgement failed, 2 misuse, 70 and up
infrastructure (host_tools/errors.py)."""

from invoke import Exit, task


@task
def doctor(c):
    """Check what this machine needs and say exactly what to install."""
    from host_tools import doctor

    raise Exit(code=doctor.main())


@task(
    help={
        "fetch": "Fetch the models that can be fetched and are not here yet.",
        "path": "Print only the path of this model (a name of the list, or a file); fetches it if needed.",
    }
)
def models(c, fetch=False, path=""):
    """List the models that can be named, and where they are; --fetch brings them.

    Your own models: set QUADRA_MODELS_DIR to their folder. It is searched first.
    """
    from host_tools import models

    if path:
        print(models.find(path).path)
        return
    if fetch:
        models.fetch(entry for entry, where in models.status() if not where)
    models.show()


@task(help={"debug": "With symbols and without optimisation."})
def build(c, debug=False):
    """Build the delegate for this machine; print where libquadra.so is."""
    from host_tools import bazel

    print(bazel.library(debug=debug))


@task(help={"library": "A shared library to measure (default: the delegate, built for this machine)."})
def size(c, library=""):
    """Show what the delegate weighs: bytes, sections, exports, needed libraries."""
    from pathlib import Path

    from host_tools import bazel, size

    size.show(size.measure(Path(library) if library else bazel.library()))


@task(
    help={
        "only": "Run the Python tests whose names match this (pytest -k), and no native tests.",
        "slow": "Also the tests that take long.",
        "args": "More words for pytest, e.g. --args='-x tests/host_tools'.",
    }
)
def test(c, only="", slow=False, args=""):
    """Build everything and run the tests: native ones with Bazel, then pytest."""
    from host_tools import upkeep

    upkeep.run_tests(only=only, slow=slow, args=args)


@task(help={"all": "Also the Python environment, so that the next start makes it anew."})
def clean(c, all=False):
    """Remove what was built. Run folders and fetched models stay."""
    from host_tools import upkeep

    upkeep.clean(everything=all)


@task
def lock(c):
    """Write requirements.lock anew from pyproject.toml (needs the network)."""
    from host_tools import upkeep

    upkeep.lock()
