# SPDX-License-Identifier: Apache-2.0
"""Functions wrapped in transformations, for libraries that build on tracing.

OLYMPUS itself passes plain functions. Libraries that trace with the low-level interface pass a
`WrappedFun`. A `WrappedFun` holds a function of flat operands, the transformations applied to this
function, outermost first, and a `Store` for each transformation's auxiliary output.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics.debug_info import DebugInfo, unknown_debug_info
from ..trees import pytrees

__all__ = [
    "EqualStore",
    "Store",
    "StoreException",
    "WrappedFun",
    "as_wrapped",
    "cache",
    "curried",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "merge_linear_aux",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "wrap_init",
]


class StoreException(Exception):
    """Error for a store that is read while empty, or written twice."""


class Store:
    """Container of the auxiliary output of a transformation, written once."""

    _empty = object()

    def __init__(self) -> None:
        self._value = self._empty

    @property
    def val(self) -> Any:
        """The stored value, available once the function has been called."""
        if self._value is self._empty:
            raise StoreException("the function has not been called yet: the store is empty")
        return self._value

    def store(self, value: Any) -> None:
        if self._value is not self._empty:
            raise StoreException("the function was called twice: the store has a value already")
        self._value = value

    def reset(self) -> None:
        self._value = self._empty

    def __bool__(self) -> bool:
        return self._value is not self._empty


class EqualStore(Store):
    """Store that may be written repeatedly with equal values."""

    def store(self, value: Any) -> None:
        if self and self._value != value:
            raise StoreException(
                f"the store already holds {self._value!r}, so the different value {value!r} cannot "
                "be stored"
            )
        self._value = value


class WrappedFun:
    """A function together with the transformations that are applied to it.

    Args:
      f: the function.
      f_transformed: the function with all transformations applied.
      transforms: pairs of a transformation and its static arguments, outermost first.
      stores: the store of each transformation, or None.
      params: parameters of the call, as pairs of name and value.
      in_type: the types of the operands, if known.
      debug_info: the names of the function and its arguments, for error messages.
    """

    __slots__ = ("debug_info", "f", "f_transformed", "in_type", "params", "stores", "transforms")

    def __init__(
        self,
        f: Callable[..., Any],
        f_transformed: Callable[..., Any],
        transforms: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...],
        stores: tuple[Store | None, ...],
        params: tuple[tuple[str, Any], ...],
        in_type: Any,
        debug_info: DebugInfo,
    ) -> None:
        self.f = f
        self.f_transformed = f_transformed
        self.transforms = transforms
        self.stores = stores
        self.params = params
        self.in_type = in_type
        self.debug_info = debug_info

    def replace_debug_info(self, dbg: DebugInfo) -> WrappedFun:
        """Returns the function with other debug information, for error messages."""
        return WrappedFun(
            self.f,
            self.f_transformed,
            self.transforms,
            self.stores,
            self.params,
            self.in_type,
            dbg,
        )

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed wrapped function>")

    def wrap(
        self, gen: Callable[..., Any], gen_static_args: tuple[Any, ...], out_store: Store | None
    ) -> WrappedFun:
        """Returns the function with one more transformation applied to it."""
        inner = self.f_transformed
        if out_store is None:

            def transformed(*args: Any, **kwargs: Any) -> Any:
                return gen(inner, *gen_static_args, *args, **kwargs)
        else:

            def transformed(*args: Any, **kwargs: Any) -> Any:
                return gen(inner, out_store, *gen_static_args, *args, **kwargs)

        return WrappedFun(
            self.f,
            transformed,
            ((gen, gen_static_args), *self.transforms),
            (out_store, *self.stores),
            self.params,
            None,
            self.debug_info,
        )

    def populate_stores(self, stores: Sequence[Store | None]) -> None:
        """Copies the auxiliary outputs of another wrapped function to the stores of this function.

        Args:
          stores: the stores of the other function.
        """
        for store, other in zip(self.stores, stores, strict=True):
            if store is not None and other is not None:
                store.store(other.val)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the transformed function."""
        return self.f_transformed(*args, **kwargs)

    # Wrapped functions, such as custom derivative rules, can be called directly.
    __call__ = call_wrapped

    def with_unknown_names(self) -> WrappedFun:
        return self._replace(debug_info=unknown_debug_info)

    def _replace(self, **changes: Any) -> WrappedFun:
        return WrappedFun(**{name: getattr(self, name) for name in self.__slots__} | changes)

    def __hash__(self) -> int:
        return hash((self.f, self.transforms, self.params, self.in_type))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and (
            (self.f, self.transforms, self.params, self.in_type)
            == (other.f, other.transforms, other.params, other.in_type)
        )

    def __repr__(self) -> str:
        steps = [f"{getattr(gen, '__name__', gen)}   {static}" for gen, static in self.transforms]
        return "\n".join(["Wrapped function:", *steps, f"\nCore: {self.__name__}", ""])


def wrap_init(
    f: Callable[..., Any],
    params: dict[str, Any] | None = None,
    *,
    debug_info: DebugInfo | None = None,
) -> WrappedFun:
    """Wraps a function without transformations.

    Args:
      f: the function.
      params: parameters of the call.
      debug_info: the names of the function and its arguments, for error messages; by default, there
        are no names.

    Example:
      >>> from olympus_ir.trees.flattening import debug_info
      >>> info = debug_info("example", abs, (1,), {})
      >>> wrap_init(abs, debug_info=info).call_wrapped(-1)
      1
    """
    params_of_call = () if params is None else tuple(sorted(params.items()))
    known = unknown_debug_info if debug_info is None else debug_info
    return WrappedFun(f, f, (), (), params_of_call, None, known)


def curried(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a call with only the first argument returns a function of the other arguments."""

    @functools.wraps(function)
    def with_first(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return functools.partial(function, args[0])
        return function(*args, **kwargs)

    return with_first


def as_wrapped(fun: WrappedFun | Callable[..., Any]) -> WrappedFun:
    """Wraps a plain function so that it accepts transformations; leaves wrapped functions alone."""
    return fun if isinstance(fun, WrappedFun) else wrap_init(fun, debug_info=unknown_debug_info)


@curried
def transformation2(gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any) -> WrappedFun:
    """Applies a transformation ``gen(inner, *static, *operands) -> result`` to a function."""
    return as_wrapped(fun).wrap(gen, gen_static_args, None)


@curried
def transformation_with_aux2(
    gen: Callable[..., Any],
    fun: WrappedFun,
    *gen_static_args: Any,
    use_eq_store: bool = False,
    unk_names: bool = False,
) -> tuple[WrappedFun, Callable[[], Any]]:
    """Applies a transformation with auxiliary output to a function.

    The transformation is ``gen(inner, store, *static, *operands) -> result``.

    Returns:
      The function, and a function that returns the stored value after a call.
    """
    store = EqualStore() if use_eq_store else Store()
    transformed = as_wrapped(fun).wrap(gen, gen_static_args, store)
    return (transformed.with_unknown_names() if unk_names else transformed), lambda: store.val


def _around_call(gen: Callable[..., Any], inner: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls ``inner`` with the operands that a generator yields, and sends the result back."""
    steps = gen(*args, **kwargs)
    inner_args, inner_kwargs = next(steps)
    out = steps.send(inner(*inner_args, **inner_kwargs))
    steps.close()
    return out


@curried
def transformation(gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any) -> WrappedFun:
    """Applies a transformation that is written as a generator to a function.

    ``gen(*static, *operands)`` first yields the positional and keyword operands of the inner
    function. The generator then receives the inner function's result, and yields the result of the
    transformed function.
    """

    def around(inner: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return _around_call(gen, inner, args, kwargs)

    return as_wrapped(fun).wrap(around, gen_static_args, None)


@curried
def transformation_with_aux(
    gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any
) -> tuple[WrappedFun, Callable[[], Any]]:
    """Applies a transformation that is written as a generator with auxiliary output.

    The generator works as for `transformation`, but its last yield is a pair of the result and the
    auxiliary output.

    Returns:
      The transformed function, and a function that returns the auxiliary output of its call.
    """

    def around(inner: Callable[..., Any], store: Store, *args: Any, **kwargs: Any) -> Any:
        out, found = _around_call(gen, inner, args, kwargs)
        store.store(found)
        return out

    store = Store()
    return as_wrapped(fun).wrap(around, gen_static_args, store), lambda: store.val


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Determines which of two functions was called, and returns its auxiliary output.

    ``aux1`` returns the output of the first function, and ``aux2`` the output of the second. Each
    raises `StoreException` if its function was not called.

    Returns:
      Whether the first function was called, and the auxiliary output.
    """
    try:
        first = aux1()
    except StoreException:
        try:
            return False, aux2()
        except StoreException:
            raise StoreException("neither function has been called") from None
    try:
        aux2()
    except StoreException:
        return True, first
    raise StoreException("both functions have been called")


def cache(call: Callable[..., Any], *, explain: Callable[..., Any] | None = None) -> Any:
    """Caches the results of ``call(fun, *static)`` for equal wrapped functions and arguments.

    Args:
      call: takes a `WrappedFun` and hashable arguments.
      explain: called on a cache miss as ``explain(fun, False, *static)``.
    """
    results: dict[Any, tuple[Any, tuple[Store | None, ...]]] = {}

    @functools.wraps(call)
    def cached(fun: WrappedFun, *args: Any) -> Any:
        found = results.get((fun, args))
        if found is not None:
            result, stores = found
            fun.populate_stores(stores)
            return result
        if explain is not None:
            explain(fun, False, *args)
        result = call(fun, *args)
        results[fun, args] = result, fun.stores
        return result

    cached.cache_clear = results.clear  # type: ignore[attr-defined]
    return cached


@transformation_with_aux2
def _flatten(inner: Callable[..., Any], store: Store, in_tree: Any, *leaves: Any) -> Sequence[Any]:
    args, kwargs = pytrees.tree_unflatten(in_tree, leaves)
    out, out_tree = pytrees.tree_flatten(inner(*args, **kwargs))
    store.store(out_tree)
    return out


@transformation_with_aux2
def _flatten_without_keywords(
    inner: Callable[..., Any], store: Store, in_tree: Any, *leaves: Any
) -> Sequence[Any]:
    out, out_tree = pytrees.tree_flatten(inner(*pytrees.tree_unflatten(in_tree, leaves)))
    store.store(out_tree)
    return out


def flatten_fun(
    fun: WrappedFun, *gen_static_args: Any, use_eq_store: bool = False, unk_names: bool = False
) -> tuple[WrappedFun, Callable[[], Any]]:
    """Converts a function of pytrees to a function of flat leaves.

    Args:
      fun: the function.
      *gen_static_args: the structure of ``(args, kwargs)``.
      use_eq_store: whether the function may be called repeatedly, with results of the same
        structure.
      unk_names: whether to forget the names of arguments.

    Returns:
      The function, and a function that returns the structure of its result.
    """
    return _flatten(fun, *gen_static_args, use_eq_store=use_eq_store, unk_names=unk_names)


def flatten_fun_nokwargs(
    fun: WrappedFun, *gen_static_args: Any, use_eq_store: bool = False, unk_names: bool = False
) -> tuple[WrappedFun, Callable[[], Any]]:
    """Converts a function of positional arguments to a function of flat leaves.

    The arguments are those of `flatten_fun`, except that ``gen_static_args`` is the structure of
    ``args`` alone.
    """
    return _flatten_without_keywords(
        fun, *gen_static_args, use_eq_store=use_eq_store, unk_names=unk_names
    )
