# SPDX-License-Identifier: Apache-2.0
"""Kernels of `layer_norm` and `rms_norm`; a program normalizes several rows.

A row is normalized to ``n = (x - m) r`` with the mean ``m`` (0 for rms_norm) and the reciprocal
``r`` of the root of the mean square of ``x - m``. The result is ``n w + b``. With the cotangent
``d`` of the result and ``g = d w``, the cotangent of ``x`` is ``r (g - mean(g) - n mean(g n))``,
without ``mean(g)`` for rms_norm. The cotangents of ``w`` and ``b`` are the sums of ``d n`` and
``d`` over the rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import olympus_numpy as jnp
from olympus_autodiff import custom_vjp, vjp
from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.programs.jit import jit
from olympus_pallas import BlockSpec, cdiv, next_power_of_2, pallas_call, program_id
from olympus_pallas.triton import CompilerParams

_ROWS = 4  # the number of rows of each program


class Options(NamedTuple):
    """Options of `layer_norm` and `rms_norm`, in the order of their parameters.

    Attributes:
      num_warps: number of warps that work on a block.
      num_stages: number of steps of a loop that are pipelined.
      eps: number that is added to the mean square, which is the variance for `layer_norm`.
      backward_pass_impl: "triton" for a kernel, "xla" for array operations.
      interpret: whether the kernels are run as array operations.
    """

    num_warps: int | None
    num_stages: int | None
    eps: float
    backward_pass_impl: str
    interpret: bool


def reference(x: Any, weight: Any, bias: Any, eps: float, centered: bool) -> Any:
    """Computes the normalized rows by array operations."""
    if centered:
        x = x - jnp.mean(x, axis=-1, keepdims=True)
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps) * weight + bias


class Normalization:
    """The kernels that normalize the rows of an array, and their derivatives.

    Args:
      x: the array.
      centered: whether the mean is subtracted.
      options: options of the kernels.
    """

    def __init__(self, x: Any, centered: bool, options: Options) -> None:
        self.shape, self.dtype = x.shape, x.dtype
        self.length = x.shape[-1]
        self.num_rows = x.size // self.length
        self.eps, self.centered = options.eps, centered
        self.interpret = options.interpret
        self.compiler_params = CompilerParams(options.num_warps, options.num_stages)
        width = next_power_of_2(self.length)
        self.block = (_ROWS, width)
        self.rows = BlockSpec(self.block, lambda i: (i, 0))
        self.vector = BlockSpec((width,), lambda i: (0,))
        self.numbers = BlockSpec((_ROWS,), lambda i: (i,))
        self.sums = BlockSpec((None, width), lambda i: (i, 0))
        self.grid = (cdiv(self.num_rows, _ROWS),)

    def _call(self, kernel: Any, outputs: Any, in_specs: Any, out_specs: Any, *args: Any) -> Any:
        return pallas_call(
            kernel,
            outputs,
            grid=self.grid,
            in_specs=in_specs,
            out_specs=out_specs,
            compiler_params=self.compiler_params,
            interpret=self.interpret,
        )(*args)

    def _inside(self) -> Any:
        """Returns the mask of a program's rows and columns that are in the array."""
        columns = lax.broadcasted_iota(jnp.int32, self.block, 1) < self.length
        rows = lax.broadcasted_iota(jnp.int32, self.block, 0) + program_id(0) * _ROWS
        return columns & (rows < self.num_rows)

    def _read(self, ref: Any) -> Any:
        return jnp.where(self._inside(), ref[...].astype(jnp.float32), 0.0)

    def _read_vector(self, ref: Any) -> Any:
        inside = jnp.arange(self.block[1]) < self.length
        return jnp.where(inside, ref[...].astype(jnp.float32), 0.0)

    def forward(self, x: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any]:
        """Returns the result, the mean of each row, and the factor that normalizes each row.

        The mean is 0 for `rms_norm`. The factor is ``1 / sqrt(mean((x - mean)**2) + eps)``.
        """

        def kernel(x_ref, weight_ref, bias_ref, o_ref, mean_ref, scale_ref):
            x = self._read(x_ref)
            mean = jnp.sum(x, axis=1) / self.length if self.centered else jnp.zeros(_ROWS)
            x = jnp.where(self._inside(), x - mean[:, None], 0.0)
            scale = lax.rsqrt(jnp.sum(x * x, axis=1) / self.length + self.eps)
            weight, bias = self._read_vector(weight_ref), self._read_vector(bias_ref)
            result = x * scale[:, None] * weight[None] + bias[None]
            o_ref[...] = result.astype(o_ref.dtype)
            mean_ref[...] = mean
            scale_ref[...] = scale

        number = ShapeDtypeStruct((self.num_rows,), jnp.float32)
        result, mean, scale = self._call(
            kernel,
            [ShapeDtypeStruct((self.num_rows, self.length), self.dtype), number, number],
            [self.rows, self.vector, self.vector],
            [self.rows, self.numbers, self.numbers],
            x.reshape(-1, self.length),
            weight,
            bias,
        )
        return result.reshape(self.shape), mean, scale

    def backward(self, x: Any, weight: Any, mean: Any, scale: Any, cotangent: Any) -> Any:
        """Returns the cotangents of the array and, in float32, of weight and bias."""

        def kernel(x_ref, weight_ref, mean_ref, scale_ref, do_ref, dx_ref, dw_ref, db_ref):
            inside = self._inside()
            x, do = self._read(x_ref), self._read(do_ref)
            scale = scale_ref[...][:, None]
            normal = jnp.where(inside, (x - mean_ref[...][:, None]) * scale, 0.0)
            weighted = do * self._read_vector(weight_ref)[None]
            along = jnp.sum(weighted * normal, axis=1)[:, None] / self.length
            dx = weighted - normal * along
            if self.centered:
                dx = dx - jnp.sum(weighted, axis=1)[:, None] / self.length
            dx_ref[...] = (dx * scale).astype(dx_ref.dtype)
            dw_ref[...] = jnp.sum(do * normal, axis=0)
            db_ref[...] = jnp.sum(do, axis=0)

        sums = ShapeDtypeStruct((self.grid[0], self.length), jnp.float32)
        dx, dw, db = self._call(
            kernel,
            [ShapeDtypeStruct((self.num_rows, self.length), self.dtype), sums, sums],
            [self.rows, self.vector, self.numbers, self.numbers, self.rows],
            [self.rows, self.sums, self.sums],
            x.reshape(-1, self.length),
            weight,
            mean,
            scale,
            cotangent.reshape(-1, self.length),
        )
        return dx.reshape(self.shape), dw.sum(0), db.sum(0)


def differentiable(normalize: Callable[..., Any], centered: bool) -> Callable[..., Any]:
    """Compiles a normalization, and defines its backward pass.

    Args:
      normalize: a function of an array, weight, bias, and the fields of `Options`.
      centered: whether the normalization subtracts the mean.
    """

    def forward_rule(x: Any, weight: Any, bias: Any, *options: Any) -> tuple[Any, Any]:
        return forward(x, weight, bias, centered, Options(*options))

    def backward_rule(*args: Any) -> Any:
        *options, residuals, cotangent = args
        return backward(centered, Options(*options), residuals, cotangent)

    numbers = range(3, 3 + len(Options._fields))
    function = custom_vjp(normalize, nondiff_argnums=tuple(numbers))
    function.defvjp(forward_rule, backward_rule)
    return jit(function, static_argnames=Options._fields)


def forward(x: Any, weight: Any, bias: Any, centered: bool, options: Options) -> tuple[Any, Any]:
    """Returns the result and the residuals."""
    result, mean, scale = Normalization(x, centered, options).forward(x, weight, bias)
    return result, (x, weight, bias, mean, scale)


def backward(centered: bool, options: Options, residuals: Any, cotangent: Any) -> Any:
    """Returns the cotangents of array, weight and bias.

    Raises:
      ValueError: ``backward_pass_impl`` is unknown.
    """
    x, weight, bias, mean, scale = residuals
    if options.backward_pass_impl == "xla":
        operations = functools.partial(reference, eps=options.eps, centered=centered)
        return vjp(operations, x, weight, bias)[1](cotangent)
    if options.backward_pass_impl != "triton":
        raise ValueError(
            f"backward_pass_impl must be 'triton' or 'xla', got {options.backward_pass_impl!r}"
        )
    dx, dw, db = Normalization(x, centered, options).backward(x, weight, mean, scale, cotangent)
    return dx, dw.astype(weight.dtype), db.astype(bias.dtype)
