"""Tasks that have options of RunOptions: their parameters, defaults and help are those of its fields."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from typing import Any

from invoke.tasks import Task, task

from host_tools.request.run_options import OPTIONS, RunOptions

_Parameter = inspect.Parameter


def task_of_a_run(
    names: Sequence[str],
    *,
    help: Mapping[str, str] = {},
    iterable: Sequence[str] = (),
    defaults: Mapping[str, Any] = {},
) -> Callable[[Callable[..., None]], Task[Any]]:
    """A task whose body gets a RunOptions after the context, made of the options `names`; its own parameters are further ones.

    help: texts of its own parameters, and others than the usual ones. defaults: other ones than the usual.
    """

    def decorated(body: Callable[..., None]) -> Task[Any]:
        context, _, *own = inspect.signature(body).parameters.values()
        shared = [_parameter(name, defaults) for name in names]
        shared.sort(key=lambda one: one.default is not _Parameter.empty)
        signature = inspect.Signature([context, *shared, *own])

        @functools.wraps(body)
        def called(*args: Any, **kwargs: Any) -> None:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            values = dict(given.arguments)
            first = values.pop(context.name)
            lists = {name: tuple(values[name] or ()) for name in names if _is_list(name)}
            options = RunOptions(**{**{name: values.pop(name) for name in names}, **lists})
            body(first, options, **values)

        called.__signature__ = signature  # type: ignore[attr-defined]
        texts = {name: OPTIONS[name].metadata["help"] for name in names}
        several = [*filter(_is_list, names), *iterable]
        made: Task[Any] = task(help={**texts, **help}, iterable=several)(called)
        return made

    return decorated


def _is_list(name: str) -> bool:
    return OPTIONS[name].default == ()


def _parameter(name: str, defaults: Mapping[str, Any]) -> _Parameter:
    usual = None if _is_list(name) else OPTIONS[name].default
    default = defaults.get(name, _Parameter.empty if usual is MISSING else usual)
    return _Parameter(name, _Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=OPTIONS[name].type)
