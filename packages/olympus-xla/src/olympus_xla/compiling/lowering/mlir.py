# SPDX-License-Identifier: Apache-2.0
"""The MLIR context, and the MLIR types and attributes that represent Python values.

Types and attributes belong to the context and never change, so each is made once and cached in a
dictionary. The context is made when the first program is lowered.
"""

from __future__ import annotations

import io
import math
import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir as _ir
from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _sdy, _stablehlo
from jaxlib.mlir._mlir_libs._mlir import globals as _bindings  # type: ignore[attr-defined]
from jaxlib.mlir._mlir_libs._mlir.ir import _Context as _RawContext  # type: ignore[attr-defined]

from olympus_ir.diagnostics import source_info
from olympus_ir.diagnostics.encodable import encodable
from olympus_ir.diagnostics.errors import InconclusiveDimensionOperation
from olympus_ir.loading import deferred
from olympus_ir.settings.config_flags import (
    hlo_source_file_canonicalization_regex,
    include_full_tracebacks_in_locations,
    traceback_in_locations_limit,
)
from olympus_ir.types import dtypes
from olympus_ir.types.avals import AbstractToken, ShapedArray

from ..._jaxlib import serialize_portable_artifact

if TYPE_CHECKING:
    from jaxlib.mlir import passmanager
else:
    passmanager = deferred("jaxlib.mlir.passmanager", milliseconds=10.0)

stablehlo = _stablehlo
sdy = _sdy


# The stubs of the bindings are incomplete.
ir: Any = _ir

# When the bindings first show an operation or a type of a dialect, they import the dialect's Python
# module, unless the search path is empty. For a first program, these imports take 8 ms. Lowering
# does not need them; `with_dialect_classes` restores the search path for users who inspect a
# module.
_dialect_packages = list(_bindings.dialect_search_modules)
_bindings.dialect_search_modules = []


def with_dialect_classes(module: Any) -> Any:
    """Gives access to operations by the dialects' Python classes, and returns the module."""
    _bindings.dialect_search_modules = _dialect_packages
    return module


# The dialects of MLIR that programs use.
upstream_dialects = ir.DialectRegistry()
_jax_mlir_ext.register_dialects(upstream_dialects)


class OlympusIrContext(_RawContext):
    """A context with only the dialects that programs use.

    The context class of MLIR's Python bindings would load all dialects.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.append_dialect_registry(upstream_dialects)
        self.load_all_available_dialects()
        # The C++ context does not own its thread pool, so this attribute keeps the pool alive.
        self.thread_pool = ir.ThreadPool()
        self.set_thread_pool(self.thread_pool)
        for dialect in (_stablehlo, _chlo, _sdy):
            dialect.register_dialect(self)


_context: Any = None
# Building MLIR in one context is not thread-safe, and the caches belong to one context.
lowering_lock = threading.RLock()


def context() -> Any:
    """Returns the process's MLIR context."""
    global _context
    if _context is None:
        with lowering_lock:
            if _context is None:
                _context = OlympusIrContext()
    return _context


def unknown_location() -> Any:
    return _cached(("loc",), lambda: ir.Location.unknown(context()))


_cache: dict[Any, Any] = {}


def _cached(key: Any, make: Any) -> Any:
    value = _cache.get(key)
    if value is None:
        value = _cache[key] = make()
    return value


# ---- types ----


def _make_element_types() -> dict[Any, Any]:
    c = context()
    signless, unsigned = ir.IntegerType.get_signless, ir.IntegerType.get_unsigned
    types = {
        np.bool_: signless(1, context=c),
        ml_dtypes.int2: signless(2, context=c),
        ml_dtypes.int4: signless(4, context=c),
        np.int8: signless(8, context=c),
        np.int16: signless(16, context=c),
        np.int32: signless(32, context=c),
        np.int64: signless(64, context=c),
        ml_dtypes.uint2: unsigned(2, context=c),
        ml_dtypes.uint4: unsigned(4, context=c),
        np.uint8: unsigned(8, context=c),
        np.uint16: unsigned(16, context=c),
        np.uint32: unsigned(32, context=c),
        np.uint64: unsigned(64, context=c),
        np.float16: ir.F16Type.get(c),
        ml_dtypes.bfloat16: ir.BF16Type.get(c),
        np.float32: ir.F32Type.get(c),
        np.float64: ir.F64Type.get(c),
        np.complex64: ir.ComplexType.get(ir.F32Type.get(c)),
        np.complex128: ir.ComplexType.get(ir.F64Type.get(c)),
        ml_dtypes.float8_e3m4: ir.Float8E3M4Type.get(c),
        ml_dtypes.float8_e4m3: ir.Float8E4M3Type.get(c),
        ml_dtypes.float8_e4m3b11fnuz: ir.Float8E4M3B11FNUZType.get(c),
        ml_dtypes.float8_e4m3fn: ir.Float8E4M3FNType.get(c),
        ml_dtypes.float8_e4m3fnuz: ir.Float8E4M3FNUZType.get(c),
        ml_dtypes.float8_e5m2: ir.Float8E5M2Type.get(c),
        ml_dtypes.float8_e5m2fnuz: ir.Float8E5M2FNUZType.get(c),
        ml_dtypes.float8_e8m0fnu: ir.Float8E8M0FNUType.get(c),
        ml_dtypes.float4_e2m1fn: ir.Float4E2M1FNType.get(c),
    }
    return {np.dtype(dtype): mlir_type for dtype, mlir_type in types.items()}


def element_type(dtype: Any) -> Any:
    """Returns the MLIR type of one element."""
    table = _cached("element types", _make_element_types)
    if dtype == dtypes.float0:
        return table[np.dtype(np.bool_)]
    try:
        return table[dtype]
    except KeyError:
        raise TypeError(f"arrays of dtype {dtype} cannot be compiled by XLA") from None


_tensor_types: dict[Any, Any] = {}


# XLA crashes if a size in bytes, or a product of leading sizes, needs more than 63 bits.
_MOST_BYTES = 2**62


def _check_size(shape: Sequence[int], dtype: Any) -> None:
    """Raises OverflowError if an array is larger than XLA can address."""
    size = np.dtype(dtype).itemsize
    for extent in shape:
        size *= int(extent)
        if size > _MOST_BYTES:
            break
    if size > _MOST_BYTES:
        extents = [int(extent) for extent in shape]
        total = math.prod(extent or 1 for extent in extents) * np.dtype(dtype).itemsize
        # The compiler multiplies the sizes of an empty array, too.
        has = f"has {total} bytes" if all(extents) else f"has {total} bytes but for its sizes of 0"
        raise OverflowError(
            f"an array of type {dtypes.name_of(dtype)}[{','.join(map(str, shape))}] {has}, and the "
            f"compiler addresses at most {_MOST_BYTES}"
        )


def tensor_type(shape: Sequence[int], dtype: Any) -> Any:
    """Returns the MLIR type of an array.

    Raises:
      OverflowError: the array is larger than XLA can address.
    """
    key = (tuple(shape), dtype)
    found = _tensor_types.get(key)
    if found is None:
        if has_symbolic(shape):
            return SymbolicType(key[0], dtype)
        _check_size(key[0], dtype)
        found = _tensor_types[key] = ir.RankedTensorType.get(
            list(shape), element_type(dtype), loc=unknown_location()
        )
    return found


def has_symbolic(sizes: Sequence[Any]) -> bool:
    """Returns whether any of the sizes is a symbolic dimension."""
    return any(hasattr(size, "_is_symbolic_dimension") for size in sizes)


class SymbolicType:
    """The type of an array with symbolic dimensions among its sizes.

    In the MLIR type, these sizes are merely dynamic. A context for symbolic shapes passes them to
    operations as operands.
    """

    __slots__ = ("dtype", "shape", "type")

    def __init__(self, shape: tuple[Any, ...], dtype: Any) -> None:
        dynamic = ir.ShapedType.get_dynamic_size()
        sizes = [size if type(size) is int else dynamic for size in shape]
        self.shape = shape
        self.dtype = dtype
        self.type = ir.RankedTensorType.get(sizes, element_type(dtype), loc=unknown_location())


def plain_types(types: Sequence[Any]) -> list[Any]:
    """Returns the MLIR types, with each `SymbolicType` replaced by its MLIR type."""
    return [kind.type if kind.__class__ is SymbolicType else kind for kind in types]


class SymbolicIntegers:
    """Stand-in for an attribute of integers that include symbolic dimensions."""

    __slots__ = ("values",)

    def __init__(self, values: np.ndarray) -> None:
        self.values = values


_aval_types: dict[Any, Any] = {}


def aval_type(aval: Any) -> Any:
    """Returns the MLIR type of an abstract value.

    For an extended dtype, this is the type of the physical array.
    """
    found = _aval_types.get(aval)
    if found is None:
        found = ir_type_handlers.get(aval.__class__, _array_type)(aval)
        if found.__class__ is SymbolicType:
            return found
        # The cache keeps its keys alive, which are otherwise interned weakly. So its size is
        # limited.
        if len(_aval_types) > 16384:
            _aval_types.clear()
        _aval_types[aval] = found
    return found


def _array_type(aval: Any) -> Any:
    physical = physical_aval(aval)
    return tensor_type(physical.shape, physical.dtype)


# Maps a class of abstract values to the function that returns the MLIR type of such a value.
ir_type_handlers: dict[type, Callable[[Any], Any]] = {
    ShapedArray: _array_type,
    AbstractToken: lambda _: token_type(),
}


def unvarying(aval: Any) -> Any:
    """Returns a type without varying manual axes and without sharding."""
    if getattr(aval, "vma", None) or aval.layout is not None:
        return aval.update(vma=frozenset(), sharding=None)
    return aval


def physical_aval(aval: Any) -> Any:
    """Returns the type of the array that stores an extended dtype, and other types unchanged."""
    if isinstance(aval, ShapedArray) and dtypes.is_extended(aval.dtype):
        element = aval.dtype.physical_element_aval()
        return ShapedArray((*aval.shape, *element.shape), element.dtype)
    return aval


def token_type() -> Any:
    return _cached("token", lambda: ir.Type.parse("!stablehlo.token", context=context()))


def symbolic_integer(value: Any) -> SymbolicIntegers:
    """Returns the stand-in for an attribute of one symbolic integer."""
    return SymbolicIntegers(np.array(value, object))


# ---- attributes ----


def i64(value: int) -> Any:
    return _cached(
        ("i64", value),
        lambda: ir.IntegerAttr.get(ir.IntegerType.get_signless(64, context=context()), value),
    )


def i32(value: int) -> Any:
    return _cached(
        ("i32", value),
        lambda: ir.IntegerAttr.get(ir.IntegerType.get_signless(32, context=context()), value),
    )


def ui8(value: int) -> Any:
    return _cached(
        ("ui8", value),
        lambda: ir.IntegerAttr.get(ir.IntegerType.get_unsigned(8, context=context()), value),
    )


def boolean(value: bool) -> Any:
    return _cached(("bool", bool(value)), lambda: ir.BoolAttr.get(bool(value), context=context()))


def string(value: str | bytes) -> Any:
    return _cached(("str", value), lambda: ir.StringAttr.get(value, context=context()))


def symbol(name: str) -> Any:
    return _cached(("symbol", name), lambda: ir.FlatSymbolRefAttr.get(name, context=context()))


def array(attributes: Sequence[Any]) -> Any:
    return ir.ArrayAttr.get(list(attributes), context=context())


def dictionary(attributes: dict[str, Any]) -> Any:
    return ir.DictAttr.get(attributes, context=context())


def unit() -> Any:
    return _cached("unit", lambda: ir.UnitAttr.get(context=context()))


def i64_array(values: Sequence[int]) -> Any:
    try:
        values = tuple(map(int, values))
    except InconclusiveDimensionOperation:
        return SymbolicIntegers(np.array(values, object))
    return _cached(
        ("i64s", values), lambda: ir.DenseI64ArrayAttr.get(list(values), context=context())
    )


def boolean_array(values: Sequence[bool]) -> Any:
    values = tuple(map(bool, values))
    return _cached(
        ("bools", values), lambda: ir.DenseBoolArrayAttr.get(list(values), context=context())
    )


def i64_elements(values: Any) -> Any:
    """Returns a dense constant attribute of 64-bit integers, such as padding configurations."""
    values = np.asarray(values)
    if values.dtype == object:
        return SymbolicIntegers(values)
    values = values.astype(np.int64)
    key = ("i64 elements", values.shape, tuple(values.ravel().tolist()))

    def make() -> Any:
        element = ir.IntegerType.get_signless(64, context=context())
        kind = ir.RankedTensorType.get(list(values.shape), element, loc=unknown_location())
        return ir.DenseElementsAttr.get(np.ascontiguousarray(values), type=kind, context=context())

    return _cached(key, make)


def parsed(text: str) -> Any:
    """Returns an attribute from its text, such as ``#stablehlo<comparison_direction LT>``."""
    return _cached(("parsed", text), lambda: ir.Attribute.parse(text, context=context()))


def dense(value: np.ndarray) -> Any:
    """Returns a dense constant attribute with the values of an array."""
    value = np.asarray(value)
    if value.dtype == dtypes.float0:  # float0 has no contents, so it is written as booleans
        value = np.zeros(value.shape, np.bool_)
    kind = tensor_type(value.shape, value.dtype)
    if value.dtype.isbuiltin != 1:  # dtypes of ml_dtypes are written as bits
        value = value.view(np.uint8 if value.dtype.itemsize == 1 else np.uint16)
    return ir.DenseElementsAttr.get(np.ascontiguousarray(value), type=kind, context=context())


_scalars: dict[Any, Any] = {}


def splat(value: Any, shape: Sequence[int], dtype: Any) -> Any:
    """Returns a dense constant attribute whose elements are all ``value``."""
    scalar = np.asarray(value, dtype)
    key = (scalar.tobytes(), dtype, tuple(shape))
    found = _scalars.get(key)
    if found is None:
        if dtype == dtypes.float0:  # as in `dense`, float0 is written as booleans
            scalar, dtype = np.zeros((), np.bool_), np.dtype(np.bool_)
        kind = tensor_type(shape, dtype)
        if 0 in shape:
            element = dense(np.zeros(shape, dtype))
        else:
            bits = scalar.reshape(1)
            if bits.dtype.isbuiltin != 1:
                bits = bits.view(np.uint8 if bits.dtype.itemsize == 1 else np.uint16)
            element = ir.DenseElementsAttr.get(bits, type=kind, context=context())
        if len(_scalars) > 16384:
            _scalars.clear()
        found = _scalars[key] = element
    return found


def result_accuracy(accuracy: Any) -> Any:
    """Returns the attribute for a function's accuracy, which is a mode or a tolerance."""
    if hasattr(accuracy, "atol"):
        fields = (
            f"atol = {float(accuracy.atol):e}, rtol = {float(accuracy.rtol):e}, "
            f"ulps = {int(accuracy.ulps)}, mode = #stablehlo.result_accuracy_mode<TOLERANCE>"
        )
    elif hasattr(accuracy, "name"):
        fields = f"mode = #stablehlo.result_accuracy_mode<{accuracy.name}>"
    else:
        raise NotImplementedError(
            f"Accuracy {accuracy} not supported: it is an AccuracyMode or a Tolerance"
        )
    return parsed(f"#stablehlo.result_accuracy<{fields}>")


# ---- locations ----

# Lower than the flag's default, because outer frames cost time and are seldom useful.
_FRAMES_IN_LOCATIONS = 10


def _file_name(code: Any) -> str | None:
    """Returns the file name for a location; None for code of the library."""
    name = code.co_filename
    if not source_info.is_user_file(name):
        return None
    pattern = hlo_source_file_canonicalization_regex.value
    return encodable(name if not pattern else re.sub(pattern, "", name))


def _frame_limit() -> int:
    """Returns the maximal number of the user's lines in a location; 0 for no lines."""
    if not include_full_tracebacks_in_locations.value:
        return 1
    limit = traceback_in_locations_limit.value
    if limit == traceback_in_locations_limit.default:
        return _FRAMES_IN_LOCATIONS
    return _ALL_FRAMES if limit < 0 else limit


_ALL_FRAMES = 10_000
# Locations of operations, by the values that determine them. `context` fills this dictionary.
locations: dict[Any, Any] = {}


def _forget_locations(_: Any) -> None:
    locations.clear()
    for key in [key for key in _cache if isinstance(key, tuple) and key[0] == "locations"]:
        del _cache[key]


for _flag in (
    hlo_source_file_canonicalization_regex,
    include_full_tracebacks_in_locations,
    traceback_in_locations_limit,
):
    _flag.add_global_hook(_forget_locations)


def traceback_location(traceback: Any, name: str, callers: Any = None) -> Any:
    """Returns the location of an equation: its name and the user's lines.

    Args:
      traceback: the traceback of the equation, which begins at the equation's program.
      name: the name.
      callers: the tracebacks of the enclosing calls, as in `LoweringContext.callers`.
    """
    limit = _frame_limit()
    if limit == _FRAMES_IN_LOCATIONS and callers is not None:
        # The equations of a program have the same callers.
        key = (limit, callers)
        outer = locations.get(key)
        if outer is None:
            outer = locations[key] = _lines_of_calls(callers, limit)
        pieces = _lines_of_calls((traceback, None), limit) + outer
    else:
        pieces = _lines_of_calls((traceback, callers), limit)
    if not pieces:
        inner = unknown_location()
    elif len(pieces) == 1:
        inner = pieces[0]
    else:
        inner = ir.Location.callsite(pieces[0], pieces[1:], context=context())
    return ir.Location.name(encodable(name), childLoc=inner, context=context())


def _lines_of_calls(calls: Any, limit: int) -> list[Any]:
    """Returns the user's lines in nested calls, as one location for each call that has such lines.

    Args:
      calls: the tracebacks of the calls, innermost first, as nested pairs.
      limit: the maximal number of lines. The default limit holds for each call, and another limit
        for all calls together.
    """
    is_default = limit == _FRAMES_IN_LOCATIONS
    unknown = unknown_location()
    pieces = []
    while calls is not None and limit > 0:
        traceback, calls = calls
        if traceback is not None:
            piece = _lines_of(traceback, limit)
            if piece != unknown:
                pieces.append(piece)
                limit -= 0 if is_default else _count_of_lines(traceback)
    return pieces


def _count_of_lines(traceback: Any) -> int:
    """Returns the number of user lines in a traceback."""
    codes, _ = traceback.raw_frames()
    return sum(_file_name(code) is not None for code in codes)


def _lines_of(traceback: Any, limit: int) -> Any:
    """Returns the user's lines in a traceback as a location; an unknown location for no lines."""
    cache = _cached(
        ("locations", limit),
        lambda: _jax_mlir_ext.TracebackToLocationCache(
            code_to_filename=_file_name, frame_limit=limit, context=context()
        ),
    )
    return cache.get(traceback)


def index_elements(values: Sequence[int]) -> Any:
    """Returns a dense constant attribute of indices, such as the attribute of a layout."""
    values = tuple(values)

    def make() -> Any:
        kind = ir.RankedTensorType.get(
            [len(values)], ir.IndexType.get(context=context()), loc=unknown_location()
        )
        return ir.DenseIntElementsAttr.get(
            np.asarray(values, np.int64), type=kind, context=context()
        )

    return _cached(("index", values), make)


def bytecode(module: Any) -> bytes:
    """Returns a module in MLIR's binary form."""
    out = io.BytesIO()
    with lowering_lock:
        module.operation.write_bytecode(file=out)
    return out.getvalue()


def bytecode_without_locations(module: Any) -> bytes:
    """Returns a module's bytecode without source positions. Equal programs give equal bytecode."""
    with lowering_lock, context(), unknown_location():
        stripped = module.operation.clone()
        _strip_locations().run(stripped)
        out = io.BytesIO()
        stripped.write_bytecode(file=out)
    return out.getvalue()


def _strip_locations() -> Any:
    return _cached(
        "strip locations",
        lambda: passmanager.PassManager.parse("builtin.module(strip-debuginfo)", context=context()),
    )


def module_name(module: Any) -> str:
    """Returns the name of a module; "module" if it has none."""
    attributes = module.operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else "module"


def custom_call_targets(module: Any) -> set[str]:
    """Returns the names of the foreign functions that a module calls."""
    targets = set()

    def visit(operation: Any) -> Any:
        if operation.name == "stablehlo.custom_call":
            targets.add(operation.attributes["call_target_name"].value)
        return ir.WalkResult.ADVANCE

    with lowering_lock:
        module.operation.walk(visit)
    return targets


# ---- portable artifacts ----


def portable_artifact(module: Any, *, newest: bool = False) -> bytes:
    """Returns a module in StableHLO's portable form, which later versions can read.

    Args:
      module: the module, which is not changed.
      newest: whether to write the current version of StableHLO. Otherwise the function writes the
        version of twelve weeks ago, which older consumers can read.

    Raises:
      ValueError: the module has operations that the written version lacks.
    """
    if newest:
        version = _stablehlo.get_current_version()
    else:
        twelve_weeks = _stablehlo.StablehloCompatibilityRequirement.WEEK_12
        version = _stablehlo.get_version_from_compatibility_requirement(twelve_weeks)
    return serialize_portable_artifact(module, version)


def portable_module(artifact: bytes) -> Any:
    """Returns the module of a portable artifact, in the process's context.

    Raises:
      ValueError: the artifact cannot be read.
    """
    return _stablehlo.deserialize_portable_artifact(context(), artifact)
