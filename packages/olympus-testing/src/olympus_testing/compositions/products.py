# SPDX-License-Identifier: Apache-2.0
"""Families of operations that multiply: products, convolutions, transforms and linear algebra.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft
from .programs import Kind, Value

__all__ = ["convolved", "matrices", "multiplied", "random_bits", "transformed"]


def multiplied(draft: Draft) -> Value:
    """Appends a product of matrices or tensors."""
    x = draft.pick("inexact", lambda rank: rank > 0)
    shape: tuple[int, ...] = x.kind.shape
    last, dtype = shape[-1], x.kind.dtype
    kind = draft.chooser.randrange(6)
    if kind == 0 and len(shape) > 1:
        columns = draft.chooser.randint(1, 3)
        y = draft.fit(draft.pick(), Kind((last, columns), dtype))
        return draft.add("$0 @ $1", [x, y], (*shape[:-1], columns), dtype)
    if kind == 1:
        y = draft.fit(draft.pick(), Kind((last,), dtype))
        text = draft.chooser.choice(
            ("jnp.dot($0, $1)", "jnp.tensordot($0, $1, 1)", "jnp.matmul($0, $1)")
        )
        return draft.add(text, [x, y], shape[:-1], dtype)
    if kind == 2 and len(shape) <= 2:
        y = draft.fit(draft.pick(), Kind((2,), dtype))
        return draft.add("jnp.outer($0, $1)", [x, y], (x.kind.size, 2), dtype)
    if kind == 3 and len(shape) == 2:
        text = draft.chooser.choice(("jnp.einsum('ij,kj->ik', $0, $0)", "$0 @ $0.T"))
        return draft.add(text, [x], (shape[0], shape[0]), dtype)
    if kind == 4 and len(shape) == 3:
        y = draft.fit(draft.pick(), Kind((shape[0], shape[2], 2), dtype))
        text = "lax.dot_general($0, $1, (((2,), (1,)), ((0,), (0,))))"
        return draft.add(text, [x, y], (*shape[:2], 2), dtype)
    y = draft.fit(draft.pick(), x.kind)
    text = draft.chooser.choice(("jnp.vdot($0, $1)", "jnp.einsum('...i,...i->', $0, $1)"))
    return draft.add(text, [x, y], (), dtype)


def convolved(draft: Draft) -> Value:
    """Appends a convolution."""
    x = draft.sized("float", lambda rank: rank > 0)
    dtype = x.kind.dtype
    if draft.chance(0.4):
        x = draft.fit(x, Kind((x.kind.size,), dtype))
        y = draft.fit(draft.pick(), Kind((2,), dtype))
        mode = draft.chooser.choice(("same", "full"))
        size = x.kind.size + 1 if mode == "full" else max(x.kind.size, 2)
        return draft.add(f"jnp.convolve($0, $1, mode='{mode}')", [x, y], (size,), dtype)
    channels, groups = draft.chooser.choice(((1, 1), (2, 1), (2, 2)))
    length, width = draft.chooser.randint(2, 4), draft.chooser.randint(1, 2)
    x = draft.fit(x, Kind((1, channels, length), dtype))
    kernel = draft.fit(draft.pick(), Kind((2, channels // groups, width), dtype))
    stride, dilation = draft.chooser.randint(1, 2), draft.chooser.randint(1, 2)
    low, high = draft.chooser.randint(0, 1), draft.chooser.randint(0, 1)
    base = draft.chooser.randint(1, 2)
    covered = (length - 1) * base + 1 + low + high - ((width - 1) * dilation + 1)
    if covered < 0:
        return x
    text = (
        f"lax.conv_general_dilated($0, $1, ({stride},), [({low}, {high})], lhs_dilation=({base},), "
        f"rhs_dilation=({dilation},), feature_group_count={groups})"
    )
    return draft.add(text, [x, kernel], (1, 2, covered // stride + 1), dtype)


def transformed(draft: Draft) -> Value:
    """Appends a Fourier transform."""
    x = draft.sized("inexact", lambda rank: rank > 0)
    shape = x.kind.shape
    if x.kind.dtype == "bfloat16":
        x = draft.fit(x, Kind(shape, draft.dtypes.real))
    if x.kind.is_complex:
        text = draft.chooser.choice(("jnp.fft.fft($0)", "jnp.fft.ifft($0)", "jnp.fft.fftn($0)"))
        return draft.add(text, [x], shape, x.kind.dtype)
    return draft.add(
        "jnp.fft.rfft($0)", [x], (*shape[:-1], shape[-1] // 2 + 1), draft.dtypes.complex
    )


def matrices(draft: Draft) -> Value:
    """Appends a factor or the inverse of a matrix that is far from singular, or a solution."""
    size = draft.chooser.randint(1, 3)
    dtype = draft.dtypes.real if draft.chance(0.8) else draft.dtypes.complex
    a = draft.fit(draft.pick("inexact"), Kind((size, size), dtype))
    a = draft.add(
        f"jnp.tanh($0.real) + 3 * jnp.eye({size}, dtype=$0.dtype)", [a], (size, size), dtype
    )
    kind = draft.chooser.randrange(6)
    if kind == 0:
        b = draft.fit(draft.pick(), Kind((size, 2), dtype))
        return draft.add("jnp.linalg.solve($0, $1)", [a, b], (size, 2), dtype)
    if kind == 1:
        return draft.add("jnp.linalg.cholesky($0 @ $0.T.conj())", [a], (size, size), dtype)
    if kind == 2:
        b = draft.fit(draft.pick(), Kind((size,), dtype))
        lower = draft.chance(0.5)
        text = f"jax.scipy.linalg.solve_triangular($0, $1, lower={lower})"
        return draft.add(text, [a, b], (size,), dtype)
    if kind == 3:
        return draft.add("jnp.linalg.det($0)", [a], (), dtype)
    if kind == 4:
        return draft.add("jnp.linalg.inv($0)", [a], (size, size), dtype)
    return draft.add("abs(jnp.linalg.qr($0)[1])", [a], (size, size), draft.dtypes.real)


def random_bits(draft: Draft) -> Value:
    """Appends random numbers. Their key is constant, or depends on a value of the program."""
    seed = draft.chooser.randrange(100)
    shape = draft.pick().kind.shape
    dtype = draft.dtypes.real
    key, operands = f"jax.random.key({seed})", []
    if draft.chance(0.5):
        number = draft.fit(draft.pick("integer"), Kind((), draft.dtypes.integer))
        key, operands = f"jax.random.fold_in({key}, $0)", [number]
    kind = draft.chooser.randrange(5)
    if kind == 0:
        return draft.add(f"jax.random.normal({key}, {shape}, '{dtype}')", operands, shape, dtype)
    if kind == 1:
        return draft.add(f"jax.random.bernoulli({key}, 0.4, {shape})", operands, shape, "bool")
    if kind == 2:
        text = f"jax.random.randint({key}, {shape}, 0, 9, '{draft.dtypes.integer}')"
        return draft.add(text, operands, shape, draft.dtypes.integer)
    if kind == 3:
        return draft.add(f"jax.random.bits({key}, {shape}, 'uint8')", operands, shape, "uint8")
    return draft.add(f"jax.random.uniform({key}, {shape}, '{dtype}')", operands, shape, dtype)
