# SPDX-License-Identifier: Apache-2.0
"""Exports functions and classes of inner packages from the public modules.

A public module exports a function as its "face": a wrapper that hides the library's frames in
errors. The ``__module__`` of functions and classes becomes the name of the public module, so
messages, ``help()`` and pickles refer to the public module. Inner packages export the same
wrappers. Only `olympus_ir` exports the functions themselves, because rules call them.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from olympus_ir.diagnostics import errors
from olympus_ir.diagnostics.traceback_filtering import api_boundary, is_boundary
from olympus_ir.loading import deferred

from ._examples import with_public_names

if TYPE_CHECKING:
    from olympus_ir.diagnostics import suggestions

    from . import _habits as habits
else:
    suggestions = deferred("olympus_ir.diagnostics.suggestions", milliseconds=0.3)
    habits = deferred("olympus._habits", milliseconds=0.3)

__all__ = ["face", "missing_name", "present"]

# Maps names of classes to their public modules. Without an entry, a class gets the first public
# module that presents the class under its own name.
_HOMES = {"PartitionSpec": "olympus.sharding"}

# Base classes that have the module of a class derived from them. A module that presents one of them
# replaces that module by its own name.
_adopted: set[type] = set()

# A cache of the wrapper of each inner function. Functions of modules are never deleted.
_wrappers: dict[FunctionType, FunctionType] = {}


def face(module: str, name: str, value: Any) -> Any:
    """Returns the object that a public module exports for an object of an inner package.

    For a function, this is a wrapper that hides the library's frames in errors. Other objects are
    returned themselves. The ``__module__`` of a class or of a callable object becomes the name of
    the public module.

    Args:
      module: the name of the public module.
      name: the object's name in the public module.
      value: the object of the inner package.

    Example:
      >>> from olympus_batching import vmap
      >>> face("olympus", "vmap", vmap).__module__
      'olympus'
    """
    if not _is_inner(value) and not (isinstance(value, type) and value in _adopted):
        return value
    if type(value) is FunctionType:
        return _wrappers.get(value) or _wrapper(module, name, value)
    if isinstance(value, type):
        home = _HOMES.get(value.__qualname__)
        if home is not None or _has_class(module, name, value):
            value.__module__ = home or module
            _publish_docstrings(value, *vars(value).values())
            _adopt_bases(value)
    elif callable(value) and "__module__" in getattr(value, "__dict__", ()):
        value.__module__ = module
        _publish_docstrings(value)
    return value


def _adopt_bases(value: type) -> None:
    """Shows the inner base classes of a class as classes of its module, as in ``help()``.

    A class that the module presents under another name keeps its own module, by which pickles find
    it.
    """
    presented = vars(sys.modules[value.__module__]) if value.__module__ in sys.modules else {}
    for base in value.__mro__[1:]:
        if _is_inner(base) and not any(named is base for named in presented.values()):
            base.__module__ = value.__module__
            _adopted.add(base)


def _has_class(module: str, name: str, value: type) -> bool:
    """Returns whether a public module has a class by its own name, by which pickles find it."""
    own = value.__qualname__
    return own == name or (value.__module__ == "olympus_numpy" and own in dir(sys.modules[module]))


def _publish_docstrings(*values: Any) -> None:
    """Rewrites the examples in docstrings, so that they import from the public modules."""
    for value in values:
        docstring = getattr(value, "__doc__", None)
        # Few docstrings have imports to rewrite. This test skips the other docstrings quickly.
        if isinstance(docstring, str) and " olympus_" in docstring:
            # The docstring of a compiled function cannot be replaced.
            with contextlib.suppress(AttributeError, TypeError):
                value.__doc__ = with_public_names(docstring)


def _is_inner(value: Any) -> bool:
    home = getattr(value, "__module__", None)
    return isinstance(home, str) and home.startswith(("olympus_", "olympus._"))


def _wrapper(module: str, name: str, function: FunctionType) -> FunctionType:
    """Returns a function's wrapper, or the function itself if the function is a wrapper already."""
    package = function.__module__.partition(".")[0]
    wrapped = function if is_boundary(function) else api_boundary(function)
    wrapped.__module__ = module
    if function.__name__ != name and function.__name__ not in dir(sys.modules[module]):
        wrapped.__name__ = wrapped.__qualname__ = name
    _publish_docstrings(wrapped)
    # Listing the names of a module may look up all of them, this function included.
    wrapped = _wrappers.setdefault(function, wrapped)
    exports = vars(sys.modules[package]) if package != "olympus_ir" else {}
    if exports.get(name) is function:
        exports[name] = wrapped
    return wrapped


def present(module: str) -> None:
    """Replaces the objects of inner packages in a public module by their faces.

    The error for a name that the module does not have suggests the name to use instead.
    """
    if module not in sys.modules:  # a module of aliases in `compat`
        return
    names = vars(sys.modules[module])
    faces = {name: face(module, name, value) for name, value in names.items() if name[0] != "_"}
    names.update(faces)
    names.setdefault("__getattr__", functools.partial(_report, module))


@api_boundary
def _report(module: str, name: str) -> NoReturn:
    raise missing_name(module, name, lambda: dir(sys.modules[module]))


def missing_name(module: str, name: str, names: Callable[[], list[str]]) -> AttributeError:
    """Returns the error for a name that a module does not have, with the name to use instead.

    Args:
      module: the module.
      name: the name that was looked up.
      names: returns the names of the module, for suggestions.
    """
    text = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("__"):  # Python and libraries look up many special names
        text += ": OLYMPUS does not have it"
        text += suggestions.hint(name, names(), habits.HABITS.get(module, {}))
    return AttributeError(text)


# Errors may be shown before `olympus.errors` is imported, so their classes get their faces here.
for _name in errors.__all__:
    face("olympus.errors", _name, getattr(errors, _name))
