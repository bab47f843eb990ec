"""What options ask for: specs, and places to run them."""

from dataclasses import replace
from pathlib import Path

from host_tools.places import where
from host_tools.places.place import Place
from host_tools.record.spec import RunSpec
from host_tools.request import from_arguments
from host_tools.request.run_options import RunOptions
from host_tools.run import chosen_driver


def specs(options: RunOptions) -> list[RunSpec]:
    """One for each signature that is to run. Misuse: the driver contradicts other options, or an option makes no sense."""
    row = chosen_driver.find(options.driver, options.backend, options.target, options.on, options.options)
    options = replace(options, backend=row.backend) if row else options
    return [from_arguments.spec_of(one) for one in from_arguments.each(options)]


def library(options: RunOptions) -> Path:
    """The delegate for this machine: the given one, that of the driver, or one that is built."""
    return chosen_driver.library(from_arguments.file(options.library), options.driver)


def places(options: RunOptions) -> list[Place]:
    given, apk = from_arguments.file(options.library), from_arguments.file(options.apk)
    return where.parse(options.on, given, apk, options.via)
