# SPDX-License-Identifier: Apache-2.0
"""Functions that can be pickled: by name, or as a transformation with its arguments.

Python pickles functions by name. A function that a transformation returns has the name of the
original function, so its name would lead to the wrong function. Such a function is pickled as the
transformation and its arguments instead. The decorator `travels` makes the functions of a
transformation picklable in this way. Callable classes derive from `NamedFunction`.

Some picklers, such as cloudpickle, write the functions of ``__main__`` by value, because the main
program of another process is different. With such a pickler, these functions have no usable name.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from ..diagnostics.traceback_filtering import api_boundary, filter_exception

__all__ = ["NamedFunction", "TransformedFunction", "name_in_module", "travels"]

P = ParamSpec("P")
R = TypeVar("R")


def name_in_module(function: Any) -> str | None:
    """Returns the name by which a function can be pickled; None if there is none.

    Example:
      >>> name_in_module(functools.reduce), name_in_module(lambda x: x)
      ('reduce', None)
    """
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or _is_by_value(module):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is function else None


def _is_by_value(module: str) -> bool:
    """Returns whether the running pickler writes the functions of a module by value."""
    pickle = sys.modules.get("pickle")
    frame = sys._getframe(2)
    while pickle is not None and frame is not None:
        if frame.f_code.co_name == "dump":
            pickler = frame.f_locals.get("self")
            if isinstance(pickler, pickle.Pickler | pickle._Pickler):
                home = sys.modules.get(type(pickler).__module__)
                registered = getattr(home, "list_registry_pickle_by_value", set)()
                writes_functions = hasattr(pickler, "reducer_override")
                return writes_functions and (module == "__main__" or module in registered)
        frame = frame.f_back
    return False


class NamedFunction:
    """Base of callable classes, whose instances are pickled by name if a name leads to them."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return name_in_module(self) or super().__reduce_ex__(protocol)


class TransformedFunction(NamedFunction):
    """Function that a transformation returned, with the transformation and its arguments.

    Args:
      function: the function.
      transformation: the transformation, which is pickled by name.
      args: the arguments of the transformation.
      kwargs: the keyword arguments.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        transformation: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))
        self.__dict__.update(function.__dict__)
        self._function = function
        self._recipe = transformation, args, kwargs

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return self._function(*args, **kwargs)
        except Exception as error:
            filter_exception(error)
            raise  # a bare raise adds no entry for this frame, as in `api_boundary`

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        name = getattr(self, "__qualname__", type(self._function).__name__)
        return f"<{self._recipe[0].__name__} of {name}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return name_in_module(self) or (_transformed, self._recipe)


def _transformed(transformation: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return transformation(*args, **kwargs)


def travels(transformation: Callable[P, R]) -> Callable[P, R]:
    """Decorator of transformations: makes the functions that they return picklable.

    Args:
      transformation: a function at the top level of a module. Values that it returns are only
        changed if they are functions.

    Example:
      >>> @travels
      ... def twice(fun):
      ...     return lambda x: fun(fun(x))
      >>> twice(abs)
      <twice of twice.<locals>.<lambda>>
    """

    @api_boundary
    @functools.wraps(transformation)
    def transform(*args: P.args, **kwargs: P.kwargs) -> R:
        made: Any = transformation(*args, **kwargs)
        if type(made) is not types.FunctionType:
            return made
        return TransformedFunction(made, transform, args, kwargs)  # type: ignore[return-value]

    return transform
