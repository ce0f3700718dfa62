# SPDX-License-Identifier: Apache-2.0
"""Test cases and samplers of sparse arrays."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.experimental import sparse
from olympus_ir.trees.pytrees import tree_flatten, tree_leaves, tree_map, tree_unflatten

from .array_test_case import JaxTestCase
from .samplers import rand_default

__all__ = [
    "MATMUL_TOL",
    "BatchedDotGeneralProperties",
    "SparseLayout",
    "SparseTestCase",
    "is_sparse",
    "iter_bcsr_layouts",
    "iter_sparse_layouts",
    "iter_subsets",
    "rand_bcoo",
    "rand_bcsr",
    "rand_sparse",
]

Sampler = Callable[..., Any]

#: Tolerances of matrix products, by the type of the elements.
MATMUL_TOL = {np.float32: 1e-5, np.float64: 1e-10, np.complex64: 1e-5, np.complex128: 1e-10}


class BatchedDotGeneralProperties(NamedTuple):
    """Operands of a product: their shapes, kinds of dimensions, and the contracted dimensions."""

    lhs_shape: tuple[int, ...]
    rhs_shape: tuple[int, ...]
    n_batch: int
    n_dense: int
    dimension_numbers: Any


class SparseLayout(NamedTuple):
    """Numbers of the batch, dense and sparse dimensions of an array."""

    n_batch: int
    n_dense: int
    n_sparse: int


def is_sparse(x: Any) -> bool:
    """Returns whether a value is a sparse array."""
    return isinstance(x, sparse.OLYMPUSSparse)


def _dense(tree: Any) -> Any:
    """Returns a tree whose sparse arrays are converted to dense ones."""
    return tree_map(sparse.todense, tree, is_leaf=is_sparse)


class SparseTestCase(JaxTestCase):
    """A test case that compares functions of sparse arrays with functions of dense ones."""

    def assertSparseArraysEquivalent(
        self,
        x: Any,
        y: Any,
        *,
        check_dtypes: bool = True,
        atol: Any = None,
        rtol: Any = None,
        canonicalize_dtypes: bool = True,
        err_msg: str = "",
    ) -> None:
        """Fails unless two trees of sparse arrays have one structure and close buffers."""
        (x_buffers, x_tree), (y_buffers, y_tree) = tree_flatten(x), tree_flatten(y)
        self.assertEqual(x_tree, y_tree)
        self.assertAllClose(
            x_buffers,
            y_buffers,
            check_dtypes=check_dtypes,
            atol=atol,
            rtol=rtol,
            canonicalize_dtypes=canonicalize_dtypes,
            err_msg=err_msg,
        )

    def _CheckAgainstDense(
        self,
        dense_op: Callable[..., Any],
        sparse_op: Callable[..., Any],
        args_maker: Callable[[], Any],
        check_jit: bool = True,
        check_dtypes: bool = True,
        tol: Any = None,
        atol: Any = None,
        rtol: Any = None,
        canonicalize_dtypes: bool = True,
    ) -> None:
        args = args_maker()
        atol, rtol = atol or tol, rtol or tol
        result = sparse_op(*args)
        self.assertAllClose(
            dense_op(*_dense(args)),
            _dense(result),
            check_dtypes=check_dtypes,
            atol=atol,
            rtol=rtol,
            canonicalize_dtypes=canonicalize_dtypes,
        )
        if check_jit:
            compiled = olympus.jit(sparse_op)(*args)
            self.assertSparseArraysEquivalent(result, compiled, atol=atol, rtol=rtol)

    def _CheckGradsSparse(
        self,
        dense_fun: Callable[..., Any],
        sparse_fun: Callable[..., Any],
        args_maker: Callable[[], Any],
        *,
        argnums: Sequence[int] | None = None,
        modes: Sequence[str] = ("fwd", "rev"),
        atol: Any = None,
        rtol: Any = None,
    ) -> None:
        if not set(modes) <= {"fwd", "rev"}:
            raise ValueError(f"modes must be 'fwd' or 'rev', got {modes}")
        args = args_maker()
        leaves, tree = tree_flatten(args)
        # Derivatives are with respect to the first buffer of each argument, which holds the values.
        firsts = np.cumsum([0, *(len(tree_leaves(arg)) for arg in args[:-1])]).tolist()
        wanted = firsts if argnums is None else [firsts[number] for number in argnums]

        def of_dense(*buffers: Any) -> Any:
            return dense_fun(*_dense(tree_unflatten(tree, buffers)))

        def of_sparse(*buffers: Any) -> Any:
            return _dense(sparse_fun(*tree_unflatten(tree, buffers)))

        for mode, jacobian in (("rev", olympus.jacrev), ("fwd", olympus.jacfwd)):
            if mode in modes:
                expected = jacobian(of_dense, argnums=wanted)(*leaves)
                actual = jacobian(of_sparse, argnums=wanted)(*leaves)
                self.assertAllClose(expected, actual, atol=atol, rtol=rtol)

    def _random_bdims(self, *args: int) -> list[int]:
        generator = self.rng()
        return [generator.randint(0, count + 1) for count in args]

    def _CheckBatchingSparse(
        self,
        dense_fun: Callable[..., Any],
        sparse_fun: Callable[..., Any],
        args_maker: Callable[[], Any],
        *,
        batch_size: int = 3,
        bdims: Sequence[int | None] | None = None,
        check_jit: bool = False,
        **tolerances: Any,
    ) -> None:
        if bdims is None:
            example = args_maker()
            bdims = self._random_bdims(*(x.n_batch if is_sparse(x) else x.ndim for x in example))

        def batched_args() -> list[Any]:
            examples = zip(*(args_maker() for _ in range(batch_size)), strict=True)
            return [
                args[0] if dim is None else _stacked(args, dim)
                for args, dim in zip(examples, bdims, strict=True)
            ]

        self._CheckAgainstDense(
            olympus.vmap(dense_fun, bdims),
            olympus.vmap(sparse_fun, bdims),
            batched_args,
            check_jit=check_jit,
            **tolerances,
        )


def _stacked(arrays: Sequence[Any], dim: int) -> Any:
    expand = sparse.sparsify(functools.partial(lax.expand_dims, dimensions=[dim]))
    return sparse.sparsify(functools.partial(lax.concatenate, dimension=dim))(
        [expand(array) for array in arrays]
    )


def _parts(
    shape: Sequence[int], nse: float, n_batch: int, n_dense: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
    """Returns the batch, sparse and dense sizes, and the number of stored elements."""
    n_sparse = len(shape) - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(f"an array of shape {shape} cannot have {n_batch=} and {n_dense=}")
    sizes = tuple(shape)
    sparse_sizes = sizes[n_batch : n_batch + n_sparse]
    stored = math.ceil(nse * math.prod(sparse_sizes)) if 0 <= nse < 1 else int(nse)
    return sizes[:n_batch], sparse_sizes, sizes[n_batch + n_sparse :], stored


def rand_bcoo(
    rng: np.random.RandomState,
    rand_method: Sampler = rand_default,
    nse: float = 0.5,
    n_batch: int = 0,
    n_dense: int = 0,
) -> Callable[..., Any]:
    """Returns a sampler of BCOO arrays.

    Args:
      rng: the generator of the indices.
      rand_method: makes a sampler of values from the generator.
      nse: the number of stored elements, or the fraction of all elements if it is less than 1.
      n_batch: the number of batch dimensions.
      n_dense: the number of dense dimensions.

    Returns:
      A function ``(shape, dtype)`` that returns an array. Its keyword arguments replace the
        options.
    """
    options = {"nse": nse, "n_batch": n_batch, "n_dense": n_dense}

    def sample(shape: Sequence[int], dtype: Any, **changed: Any) -> Any:
        batch, sizes, dense, stored = _parts(shape, **{**options, **changed})
        values = jnp.array(rand_method(rng)((*batch, stored, *dense), dtype))
        places = rng.randint(0, sizes, size=(*batch, stored, len(sizes)), dtype=np.int32)
        return sparse.BCOO((values, jnp.array(places)), shape=tuple(shape))

    return sample


def rand_bcsr(
    rng: np.random.RandomState,
    rand_method: Sampler = rand_default,
    nse: float = 0.5,
    n_batch: int = 0,
    n_dense: int = 0,
) -> Callable[..., Any]:
    """Returns a sampler of BCSR arrays; see `rand_bcoo`.

    The sampler raises a ValueError if an array does not have two sparse dimensions.
    """
    options = {"nse": nse, "n_batch": n_batch, "n_dense": n_dense}

    def sample(shape: Sequence[int], dtype: Any, **changed: Any) -> Any:
        batch, sizes, dense, stored = _parts(shape, **{**options, **changed})
        if len(sizes) != 2:
            raise ValueError(f"a BCSR array has two sparse dimensions, got {len(sizes)}")
        rows, columns = sizes
        values = jnp.array(rand_method(rng)((*batch, stored, *dense), dtype))
        places = rng.randint(0, columns, size=(*batch, stored), dtype=np.int32)
        ends = np.sort(rng.randint(0, stored + 1, size=(*batch, rows + 1), dtype=np.int32), axis=-1)
        ends[..., 0] = 0
        return sparse.BCSR((values, jnp.array(places), jnp.array(ends)), shape=tuple(shape))

    return sample


def rand_sparse(
    rng: np.random.RandomState,
    nse: float = 0.5,
    post: Callable[[Any], Any] = lambda x: x,
    rand_method: Sampler = rand_default,
) -> Callable[..., Any]:
    """Returns a sampler of dense arrays with many zeros.

    Args:
      rng: the generator.
      nse: the number of other elements, or their fraction if it is less than 1.
      post: converts each array.
      rand_method: makes a sampler of values from the generator.
    """
    values, default = rand_method(rng), nse

    def sample(shape: Sequence[int], dtype: Any, nse: float = default) -> Any:
        size = math.prod(shape)
        kept = min(size, int(nse * size if 0 <= nse < 1 else nse))
        array = values(shape, dtype)
        array.flat[rng.choice(size, size - kept, replace=False)] = 0
        return post(array)

    return sample


def iter_subsets(s: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
    """Yields all subsets of a sequence, the smaller ones first.

    Example:
      >>> list(iter_subsets("ab"))
      [(), ('a',), ('b',), ('a', 'b')]
    """
    for count in range(len(s) + 1):
        yield from itertools.combinations(s, count)


def iter_sparse_layouts(shape: Sequence[int], min_n_batch: int = 0) -> Iterator[SparseLayout]:
    """Yields all layouts of arrays of a shape."""
    ndim = len(shape)
    for n_batch in range(min_n_batch, ndim + 1):
        for n_dense in range(ndim + 1 - n_batch):
            yield SparseLayout(n_batch, n_dense, ndim - n_batch - n_dense)


def iter_bcsr_layouts(shape: Sequence[int], min_n_batch: int = 0) -> Iterator[SparseLayout]:
    """Yields the layouts of BCSR arrays of a shape: those with two sparse dimensions."""
    return (layout for layout in iter_sparse_layouts(shape, min_n_batch) if layout.n_sparse == 2)
