"""`inv generate`, from its options to a table or JSON."""

from rich.console import Console

from host_tools.base.errors import QuadraError
from host_tools.record import printed
from host_tools.request.run_options import RunOptions
from host_tools.run import token_generation
from host_tools.run.token_generation import Asked
from host_tools.show import generate_table


def run(options: RunOptions, asked: Asked, console: Console) -> None:
    document = token_generation.of_options(options, asked)
    generate_table.show(document, console)
    token_generation.check(document)


def run_as_json(options: RunOptions, asked: Asked) -> int:
    """The same, printed as one JSON document, also where it fails; the exit status."""
    document = None
    try:
        document = token_generation.of_options(options, asked)
        token_generation.check(document)
    except QuadraError as error:
        document = token_generation.failed(document, error)
    print(printed.text(document))
    return document.exit_status
