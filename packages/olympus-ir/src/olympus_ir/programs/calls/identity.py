# SPDX-License-Identifier: Apache-2.0
"""Digests of functions: equal digests mean that tracing returns the same program.

A digest can be compared between processes. It covers everything that a function can read during
tracing: the code of the function and of the functions it calls, with defaults, closures, attributes
and globals, and the values that these refer to. Functions of OLYMPUS, NumPy and some modules of the
standard library are identified by name; the caller adds the versions of these libraries.

A value that cannot be covered has no digest: `UnknownIdentityError` names it. Examples are modules
that depend on time or files, objects of unknown types, modules that are used as values, and code
that imports, assigns to globals or looks up names dynamically. The bytecode determines the names
that code reads. A module is covered only by the attributes that code names. All other objects are
covered as a whole.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import operator
import struct
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...trees.pickled_functions import TransformedFunction
from ...trees.pytree_registry import is_tree_node

__all__ = ["UnknownIdentityError", "digest"]


class UnknownIdentityError(Exception):
    """Error for a value that has no digest; the message names the value and the reason."""


# Packages and modules whose functions are identified by name: they depend only on their arguments.
_LIBRARIES = frozenset(
    (
        "numpy ml_dtypes opt_einsum math cmath operator functools itertools typing collections "
        "dataclasses numbers abc types builtins _operator _functools _collections jaxlib "
        "olympus olympus_ir olympus_batching olympus_autodiff olympus_sharding olympus_xla "
        "olympus_export olympus_numpy olympus_random olympus_checkify olympus_kernels olympus_nn "
        "olympus_scipy olympus_sparse olympus_pallas olympus_insight"
    ).split()
)
# Attributes of library modules that depend on more than their arguments.
_IMPURE = frozenset(
    (
        "load loads loadtxt genfromtxt fromfile memmap empty empty_like config open_memmap "
        "DataSource geterr get_printoptions count live_arrays clear_caches lru_cache cache "
        "singledispatch monitoring profiler time_report explain"
    ).split()
)
_BUILTINS = frozenset(
    (
        "abs all any bool bytes callable chr classmethod complex dict divmod enumerate filter "
        "float format frozenset int isinstance issubclass iter len list map max min next "
        "object ord pow property range repr reversed round set slice sorted staticmethod str sum "
        "super tuple type zip Ellipsis NotImplemented __debug__"
    ).split()
)
# Operations by which code may read or change values that the bytecode does not name.
_REFUSED_OPERATIONS = frozenset(
    (
        "IMPORT_NAME IMPORT_STAR STORE_GLOBAL DELETE_GLOBAL LOAD_NAME STORE_NAME "
        "LOAD_BUILD_CLASS LOAD_LOCALS LOAD_CLASSDEREF LOAD_FROM_DICT_OR_GLOBALS "
        "LOAD_FROM_DICT_OR_DEREF"
    ).split()
)
_REFUSED_NAMES = frozenset(
    (
        "__globals__ __builtins__ __subclasses__ __code__ __closure__ __dict__ f_back f_globals "
        "f_locals gi_frame tb_frame __import__ __loader__ __spec__"
    ).split()
)
_LOADS = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
# Attributes of a class that its digest leaves out. They do not change what the class does, or they
# follow from other attributes.
_OF_CLASSES = frozenset(
    (
        "__dict__ __weakref__ __doc__ __module__ _abc_impl __abstractmethods__ "
        "__static_attributes__ __firstlineno__ __annotate__ __annotations_cache__ "
        "__annotate_func__ __slots__"
    ).split()
)
_REPRESENTED = frozenset(
    ("__annotations__ __dataclass_params__ __parameters__ __orig_bases__").split()
)
_PRIMITIVES = (type(None), bool, int, str, bytes, type(...), type(NotImplemented))
_CUSTOM_RULES = frozenset(("custom_jvp", "custom_vjp"))


def digest(value: Any, array_contents: Callable[[Any], bytes | None]) -> bytes:
    """Returns a digest of a function or another value.

    Args:
      value: the value.
      array_contents: returns the type and elements of a device array. Returns None for other
        objects, and for arrays that have no digest.

    Raises:
      UnknownIdentityError: the value, or one that it refers to, has no digest.

    Example:
      >>> def scaled(factor):
      ...     return lambda x: factor * x
      >>> one, same, other = (digest(scaled(f), lambda array: None) for f in (2, 2, 3))
      >>> one == same, one == other
      (True, False)
    """
    visitor = _Visitor(array_contents)
    try:
        visitor.visit(value, "the function")
    except RecursionError:
        raise UnknownIdentityError("values are nested too deeply") from None
    return visitor.result()


def _is_library(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _LIBRARIES


class _Visitor:
    """Visitor that computes a digest of a value and of all values that the value refers to."""

    def __init__(self, array_contents: Callable[[Any], bytes | None]) -> None:
        self._hash = hashlib.sha256()
        self._seen: dict[int, int] = {}
        # Keeps the visited values alive, so that Python does not reuse the ids in `_seen` for other
        # objects.
        self._kept: list[Any] = []
        self._array_contents = array_contents

    def result(self) -> bytes:
        return self._hash.digest()

    def _add(self, *parts: str | bytes) -> None:
        for part in parts:
            content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            self._hash.update(len(content).to_bytes(8, "little"))
            self._hash.update(content)

    def visit(self, value: Any, path: str) -> None:
        """Adds a value to the digest. Error messages name the value by its path."""
        kind = type(value)
        if kind in _PRIMITIVES:
            self._add(kind.__name__, repr(value))
        elif kind is float:
            self._add("float", struct.pack("<d", value))
        elif kind is complex:
            self._add("complex", struct.pack("<dd", value.real, value.imag))
        elif isinstance(value, np.dtype):
            self._add("dtype", repr(value), str(value.itemsize))
        elif isinstance(value, np.generic) or kind is np.ndarray:
            self._array(np.asarray(value), path)
        elif id(value) in self._seen:
            self._add("again", str(self._seen[id(value)]))
        else:
            self._seen[id(value)] = len(self._seen)
            self._kept.append(value)
            self._visit_object(value, kind, path)

    def _visit_object(self, value: Any, kind: type, path: str) -> None:
        visit = _VISITS.get(kind)
        if visit is not None:
            visit(self, value, path)
        elif kind in _PARTS:
            name, parts = _PARTS[kind]
            self._add(name)
            self.visit(parts(value), path)
        elif isinstance(value, types.ModuleType):
            raise UnknownIdentityError(f"{path} is a module that is used as a value")
        elif isinstance(value, type):
            self._class(value, path)
        elif not (_is_library(kind.__module__) and self._by_name(value)):
            self._instance(value, kind, path)

    # ---- values ----

    def _array(self, array: np.ndarray, path: str) -> None:
        if array.dtype.hasobject:
            raise UnknownIdentityError(f"{path} is an array of Python objects")
        self._add("array", repr(array.dtype), repr(array.shape), array.tobytes())

    def _sequence(self, value: Any, path: str) -> None:
        self._add(type(value).__name__, str(len(value)))
        for position, item in enumerate(value):
            self.visit(item, f"{path}[{position}]")

    def _dict(self, value: dict[Any, Any], path: str) -> None:
        self._add("dict", str(len(value)))
        for key, item in value.items():
            self.visit(key, f"a key of {path}")
            self.visit(item, f"{path}[{key!r}]")

    def _set(self, value: Any, path: str) -> None:
        # The order of a set of strings differs between processes.
        digests = []
        for item in value:
            if type(item) not in _PRIMITIVES:
                raise UnknownIdentityError(f"{path} is a set of {type(item).__name__}")
            digests.append(f"{type(item).__name__} {item!r}")
        self._add(type(value).__name__, *sorted(digests))

    def _cell(self, cell: Any, path: str) -> None:
        try:
            contents = cell.cell_contents
        except ValueError:
            self._add("empty cell")
        else:
            self._add("cell")
            self.visit(contents, path)

    def _by_name(self, value: Any) -> bool:
        """Adds the name of a library's object to the digest.

        Returns False if the library has no object of this name.
        """
        module = getattr(value, "__module__", None)
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            if not isinstance(owner, types.ModuleType) or not _is_library(owner.__name__):
                return False
            if _is_impure(owner.__name__, value.__name__):
                return False
            self._add("builtin", owner.__name__, value.__name__)
            return owner.__name__ != "builtins" or value.__name__ in _BUILTINS
        if not isinstance(name, str) or not _is_library(module) or not _is_of_library(value):
            return False
        if _is_impure(str(module), name):
            return False
        found: Any = sys.modules.get(module)  # type: ignore[arg-type]
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not value:
            return False
        self._add("library", str(module), name)
        return True

    # ---- classes and instances ----

    def _class(self, cls: type, path: str) -> None:
        if _is_library(cls.__module__):
            if not self._by_name(cls):
                raise UnknownIdentityError(f"{path} is a class that is not found by its name")
            return
        if type(cls) is not type and type(cls).__module__ not in ("abc", "typing"):
            raise UnknownIdentityError(f"{path} is a class with a metaclass")
        if is_tree_node(cls) and cls is not tuple:
            raise UnknownIdentityError(f"{path} is a class that is registered as a pytree")
        if not _is_written_in_python(cls.__module__):
            raise UnknownIdentityError(f"{path} is a class of an unknown module")
        self._add("class", cls.__qualname__, type(cls).__name__)
        self.visit(cls.__bases__, f"the bases of {path}")
        is_dataclass = "__dataclass_fields__" in vars(cls)
        for name, entry in sorted(vars(cls).items()):
            if name in _OF_CLASSES or _is_generated(entry, is_dataclass):
                continue
            self._add(name)
            if name in _REPRESENTED:
                self._add(repr(entry))
            elif name == "__dataclass_fields__":
                for field in entry.values():
                    self._add(field.name, repr(field.type), repr((field.init, field.kw_only)))
                    self.visit(_given(field.default), f"{path}.{field.name}")
                    self.visit(_given(field.default_factory), f"{path}.{field.name}")
            else:
                self.visit(entry, f"{path}.{name}")

    def _instance(self, value: Any, kind: type, path: str) -> None:
        contents = self._array_contents(value)
        if contents is not None:
            self._add("device array", contents)
            return
        is_of_library = _is_library(kind.__module__)
        if is_of_library and hasattr(value, "_olympus_options"):  # the value is a compiled function
            options = value._olympus_options
            if options.placement:
                raise UnknownIdentityError(f"{path} is compiled for a placement")
            self._add("jit", repr(options))
            self.visit(value.__wrapped__, path)
            return
        if is_of_library and kind.__name__ in _CUSTOM_RULES:
            self._add(kind.__name__)
            state = {name: item for name, item in vars(value).items() if name != "_count"}
            self.visit({**state, "__doc__": None, "__annotations__": None}, path)
            return
        if is_of_library:
            raise UnknownIdentityError(f"{path} is an object of type {kind.__name__}")
        self._add("instance")
        self.visit(kind, f"the class of {path}")
        for base in kind.__mro__[:-1]:
            is_plain = _is_written_in_python(base.__module__) and not _is_library(base.__module__)
            if not is_plain and base.__module__ not in ("abc", "typing") and base is not tuple:
                raise UnknownIdentityError(f"{path} is an object of type {kind.__name__}")
            slots = vars(base).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(value, name):
                    self._add(name)
                    self.visit(getattr(value, name), f"{path}.{name}")
        if isinstance(value, tuple):
            self.visit(tuple(value), path)
        if hasattr(value, "__dict__"):
            self.visit(vars(value), path)

    # ---- functions ----

    def _function(self, function: types.FunctionType, path: str) -> None:
        is_of_library = _is_library(function.__globals__.get("__name__"))
        if is_of_library and _is_impure(function.__module__, function.__name__):
            raise UnknownIdentityError(f"{path} depends on more than its arguments")
        if is_of_library and self._by_name(function):
            return
        path = f"`{function.__qualname__}`"
        self._add("function", function.__name__)
        self.visit(function.__code__, path)
        self.visit(function.__defaults__, f"the defaults of {path}")
        self.visit(function.__kwdefaults__, f"the defaults of {path}")
        self.visit(vars(function), f"the attributes of {path}")
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for name, cell in cells.items():
            if not isinstance(_contents(cell), types.ModuleType):
                self.visit(cell, f"{name} in {path}")
        if not is_of_library:
            self._add(repr(function.__annotations__))
            self._names(function, cells, path)

    def _method(self, method: types.MethodType, path: str) -> None:
        self._add("method")
        self.visit(method.__func__, path)
        self.visit(method.__self__, f"the object of {path}")

    def _code(self, code: types.CodeType, path: str) -> None:
        self._add("code", code.co_name, code.co_code, code.co_exceptiontable)
        facts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        self._add(repr(facts))
        self.visit(
            (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_consts),
            path,
        )

    def _names(self, function: types.FunctionType, cells: dict[str, Any], path: str) -> None:
        """Adds to the digest the values of the names that a function's code reads.

        The code of inner functions is included.
        """
        for name, is_global, attributes in _reads(function.__code__, path):
            if not is_global:
                value = _contents(cells[name]) if name in cells else None
                if not isinstance(value, types.ModuleType):
                    # The name is already visited as a cell, or is a variable of an outer function.
                    continue
            elif name in function.__globals__:
                value = function.__globals__[name]
            elif hasattr(builtins, name):
                if name not in _BUILTINS and not _is_exception(getattr(builtins, name)):
                    raise UnknownIdentityError(f"{path} calls {name}")
                self._add("builtin", name)
                continue
            else:
                self._add("missing", name)
                continue
            self._add("name", name)
            if isinstance(value, types.ModuleType):
                self._attribute(value, attributes, f"{name} in {path}")
            else:
                self.visit(value, f"{name} in {path}")

    def _attribute(self, module: types.ModuleType, attributes: list[str], path: str) -> None:
        """Adds to the digest the module attribute that a chain of names reads."""
        value: Any = module
        is_of_library = False
        self._add("module", module.__name__)
        for name in attributes:
            if not isinstance(value, types.ModuleType):
                break
            is_of_library = _is_library(value.__name__)
            if is_of_library:
                if _is_impure(value.__name__, name):
                    raise UnknownIdentityError(f"{path} reads {value.__name__}.{name}")
            elif not _is_written_in_python(value.__name__) or name not in vars(value):
                raise UnknownIdentityError(f"{path} reads the module {value.__name__}")
            self._add("attribute", name)
            path = f"{path}.{name}"
            value = getattr(value, name)
        if is_of_library and _is_of_library(value):
            self._add("library", type(value).__name__)
            if isinstance(value, (*_PRIMITIVES, float, complex)):
                self.visit(value, path)
            return
        self.visit(value, path)


# The method that visits the objects of a class.
_VISITS: dict[type, Callable[[_Visitor, Any, str], None]] = {
    tuple: _Visitor._sequence,
    list: _Visitor._sequence,
    dict: _Visitor._dict,
    set: _Visitor._set,
    frozenset: _Visitor._set,
    types.CodeType: _Visitor._code,
    types.FunctionType: _Visitor._function,
    types.MethodType: _Visitor._method,
    types.CellType: _Visitor._cell,
}
# Maps a class whose objects consist of a few attributes to its name and the getter of these
# attributes.
_PARTS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    slice: ("slice", operator.attrgetter("start", "stop", "step")),
    range: ("range", operator.attrgetter("start", "stop", "step")),
    functools.partial: ("partial", operator.attrgetter("func", "args", "keywords")),
    TransformedFunction: ("transformed", operator.attrgetter("_recipe")),
    staticmethod: ("staticmethod", operator.attrgetter("__func__")),
    classmethod: ("classmethod", operator.attrgetter("__func__")),
    property: ("property", operator.attrgetter("fget", "fset", "fdel")),
}


def _is_of_library(value: Any) -> bool:
    """Returns whether the code of a value belongs to a library, and not to the user's program.

    A library's decorator may wrap a function of the user's program. Such a value belongs to the
    user's program.
    """
    if isinstance(value, types.ModuleType):
        return False
    if isinstance(value, types.FunctionType):
        return _is_library(value.__globals__.get("__name__"))
    if not _is_library(type(value).__module__):
        return False
    inner = getattr(value, "__wrapped__", None)
    if inner is not None:
        return _is_of_library(inner)
    module = getattr(value, "__module__", None)
    return module is None or _is_library(module)


def _is_impure(module: str, name: str) -> bool:
    """Returns whether an attribute of a library depends on more than its arguments."""
    return name in _IMPURE or f"{module}.{name}.".startswith("numpy.random.")


def _is_written_in_python(module: str) -> bool:
    """Returns whether a module's code is Python code, from a file or entered interactively."""
    found = sys.modules.get(module)
    if module in ("abc", "typing", "builtins") or found is None:
        return False
    file = getattr(found, "__file__", None)
    return found.__spec__ is None if file is None else file.endswith(".py")


def _is_generated(entry: Any, is_dataclass: bool) -> bool:
    """Returns whether an entry of a class follows from other entries, like dataclass methods."""
    if type(entry).__name__ == "_tuplegetter" or isinstance(entry, types.MemberDescriptorType):
        return True
    function = getattr(entry, "__func__", entry)
    if not isinstance(function, types.FunctionType):
        return False
    module = function.__globals__.get("__name__", "")
    if module.startswith("namedtuple_") or module in ("collections", "reprlib"):
        return True
    return is_dataclass and function.__code__.co_filename == "<string>"


def _given(value: Any) -> Any:
    return None if type(value).__name__ == "_MISSING_TYPE" else (value,)


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _reads(code: types.CodeType, path: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Yields a triple for each name that code reads.

    The triple has the name, whether it is global, and the names of the attributes that are read
    from it. For example, ``a.b.c`` reads the name ``a`` and the attributes ``b`` and ``c``.

    Raises:
      UnknownIdentityError: the code has operations that may read or change other values.
    """
    refused = _REFUSED_NAMES.intersection(code.co_names)
    if refused:
        raise UnknownIdentityError(f"{path} reads {min(refused)}")
    instructions = [
        instruction
        for instruction in dis.get_instructions(code)
        if instruction.opname not in ("CACHE", "EXTENDED_ARG")
    ]
    for index, instruction in enumerate(instructions):
        name, operation = instruction.argval, instruction.opname
        if operation in _REFUSED_OPERATIONS:
            raise UnknownIdentityError(f"{path} has the operation {operation} ({name})")
        if operation in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars:
            raise UnknownIdentityError(
                f"{path} assigns to the variable {name} of an outer function"
            )
        if operation in ("LOAD_GLOBAL", "LOAD_DEREF"):
            attributes = []
            for following in instructions[index + 1 :]:
                if following.opname not in _LOADS:
                    break
                attributes.append(following.argval)
            yield name, operation == "LOAD_GLOBAL", attributes
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _reads(constant, path)
