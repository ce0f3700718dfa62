# SPDX-License-Identifier: Apache-2.0
"""What layer_norm and rms_norm share: kernels that take several rows of an array each.

Rows are normalized, ``n = (x - m) r`` with the mean ``m`` (0 for rms_norm) and the reciprocal
``r`` of the root of the mean square, and the result is ``n w + b``. With the cotangent ``d`` of the
result and ``g = d w``, that of ``x`` is ``r (g - mean(g) - n mean(g n))``, without ``mean(g)`` for
rms_norm; those of ``w`` and ``b`` are sums over the rows of ``d n`` and ``d``.
"""

from __future__ import annotations

from typing import Any

import olympus_numpy as jnp
from olympus_autodiff import vjp
from olympus_ir import ShapeDtypeStruct, lax
from olympus_pallas import BlockSpec, cdiv, next_power_of_2, pallas_call, program_id
from olympus_pallas.triton import CompilerParams

_ROWS = 4  # of each program


def reference(x: Any, weight: Any, bias: Any, eps: float, centered: bool) -> Any:
    """The normalized rows, by array operations."""
    if centered:
        x = x - jnp.mean(x, axis=-1, keepdims=True)
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps) * weight + bias


class Normalization:
    """The kernels for an array.

    Args:
      x: the array.
      eps: what is added to the mean square.
      centered: whether the mean is subtracted.
      options: ``num_warps``, ``num_stages`` and ``interpret``.
    """

    def __init__(self, x: Any, eps: float, centered: bool, **options: Any) -> None:
        self.shape, self.dtype = x.shape, x.dtype
        self.length = x.shape[-1]
        self.num_rows = x.size // self.length
        self.eps, self.centered = eps, centered
        self.interpret = options.pop("interpret")
        self.compiler_params = CompilerParams(**options)
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
        """Which elements of a program's block are in the array."""
        columns = lax.broadcasted_iota(jnp.int32, self.block, 1) < self.length
        rows = lax.broadcasted_iota(jnp.int32, self.block, 0) + program_id(0) * _ROWS
        return columns & (rows < self.num_rows)

    def _read(self, ref: Any) -> Any:
        return jnp.where(self._inside(), ref[...].astype(jnp.float32), 0.0)

    def _read_vector(self, ref: Any) -> Any:
        inside = jnp.arange(self.block[1]) < self.length
        return jnp.where(inside, ref[...].astype(jnp.float32), 0.0)

    def forward(self, x: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any]:
        """The result, the means of the rows and the reciprocals of their scales."""

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
        """The cotangents of the array, and single-precision ones of weight and bias."""

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


def forward(
    x: Any, weight: Any, bias: Any, centered: bool, options: tuple[Any, ...]
) -> tuple[Any, Any]:
    """The result and what the backward pass needs."""
    num_warps, num_stages, eps, _, interpret = options
    kernels = Normalization(
        x, eps, centered, num_warps=num_warps, num_stages=num_stages, interpret=interpret
    )
    result, mean, scale = kernels.forward(x, weight, bias)
    return result, (x, weight, bias, mean, scale)


def backward(centered: bool, options: tuple[Any, ...], kept: Any, cotangent: Any) -> Any:
    """The cotangents of array, weight and bias.

    Raises:
      ValueError: where the way is unknown.
    """
    num_warps, num_stages, eps, way, interpret = options
    x, weight, bias, mean, scale = kept
    if way == "xla":
        return vjp(lambda x, w, b: reference(x, w, b, eps, centered), x, weight, bias)[1](cotangent)
    if way != "triton":
        raise ValueError(f"backward_pass_impl is 'triton' or 'xla', got {way!r}")
    kernels = Normalization(
        x, eps, centered, num_warps=num_warps, num_stages=num_stages, interpret=interpret
    )
    dx, dw, db = kernels.backward(x, weight, mean, scale, cotangent)
    return dx, dw.astype(weight.dtype), db.astype(bias.dtype)
