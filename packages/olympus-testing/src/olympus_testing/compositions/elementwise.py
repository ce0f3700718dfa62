# SPDX-License-Identifier: Apache-2.0
"""Families of elementwise operations.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft
from .programs import Kind, Value

__all__ = ["binary", "cast", "eighths", "selected", "unary"]

_SMOOTH = (
    *("jnp.sin($0)", "jnp.cos($0)", "jnp.tanh($0)", "jnp.exp(-$0 * $0)", "jnp.log1p($0 * $0)"),
    *("jnp.arctan($0)", "jnp.sinh(jnp.sin($0))", "lax.logistic($0)", "jnp.sqrt(1 + $0 * $0)"),
    *("lax.rsqrt(0.5 + $0 * $0)", "$0 ** 2", "$0 ** 3", "lax.integer_pow($0, 3)", "-$0"),
    *("jax.nn.softplus($0)", "jax.nn.gelu($0)", "jax.nn.silu($0)", "lax.erf($0)", "jnp.square($0)"),
    *("jax.scipy.special.expit($0)", "1 / (2 + jnp.sin($0))", "jnp.expm1(jnp.sin($0))"),
    *(
        "jnp.cosh(jnp.cos($0))",
        "jnp.arcsinh($0)",
        "jnp.log(1.5 + jnp.cos($0))",
        "0.5 * $0",
        "$0 - 1",
    ),
    *("jnp.sinc($0)", "lax.lgamma(1.5 + $0 * $0)", "lax.cbrt(2 + jnp.sin($0))", "2 - $0", "+$0"),
    *("jnp.power(1.5, jnp.sin($0))", "jnp.exp2(jnp.sin($0))", "$0.conj()", "jnp.positive($0)"),
    *(
        "lax.erfc($0)",
        "jnp.log2(3 + jnp.sin($0))",
        "jnp.tan(0.5 * jnp.tanh($0))",
        "jnp.arctan2($0, 3)",
    ),
)
_ROUGH = (
    *(
        "jnp.abs($0)",
        "jax.nn.relu($0)",
        "jnp.sign($0)",
        "jnp.floor($0)",
        "jnp.ceil($0)",
        "jnp.round($0)",
    ),
    *("jnp.clip($0, -0.5, 0.75)", "jnp.maximum($0, 0)", "jnp.minimum($0, 0.25)", "jnp.trunc($0)"),
    *("lax.stop_gradient($0)", "jnp.nan_to_num(1 / $0)", "jnp.sqrt(jnp.abs($0))", "$0 % 0.75"),
    *(
        "jnp.fmod($0, 0.7)",
        "$0 // 0.5",
        "jax.nn.leaky_relu($0)",
        "jnp.heaviside($0, 0.5)",
        "jnp.cbrt($0)",
    ),
    *(
        "jnp.hypot($0, 0.5)",
        "jnp.log(jnp.abs($0) + 0.01)",
        "jax.nn.elu($0)",
        "lax.nextafter($0, 1 + $0)",
    ),
    *("lax.reduce_precision($0, 8, 7)", "jnp.modf($0)[0]", "jnp.frexp($0)[0]", "jnp.deg2rad($0)"),
)
_INTEGER = (
    *(
        "-$0",
        "$0 + 1",
        "$0 * 3",
        "$0 // 3",
        "$0 % 4",
        "$0 & 5",
        "$0 | 8",
        "$0 ^ 3",
        "~$0",
        "$0 << 1",
    ),
    *(
        "$0 >> 1",
        "jnp.abs($0)",
        "jnp.sign($0)",
        "$0 ** 2",
        "lax.population_count($0)",
        "lax.clz($0)",
    ),
    *(
        "jnp.clip($0, 1, 6)",
        "7 - $0",
        "jnp.minimum($0, 3)",
        "jnp.maximum(2, $0)",
        "$0 * -1",
        "$0 - 200",
    ),
    *("jnp.bitwise_not($0)", "jnp.floor_divide(17, jnp.abs($0) + 1)", "jnp.gcd($0, 6)", "-1 + $0"),
)
_COMPLEX = (
    *("jnp.conj($0)", "jnp.sin($0)", "jnp.tanh(0.5 * $0)", "jnp.exp(1j * jnp.real($0))", "1j * $0"),
    *(
        "$0 * $0",
        "1 / (3 + $0 * jnp.conj($0))",
        "jnp.sqrt($0)",
        "jnp.log(2.5 + $0 / (1 + abs($0)))",
        "-$0",
    ),
    *(
        "$0 ** 2",
        "jnp.cos($0)",
        "2 * $0",
        "$0 - 1",
        "jnp.square($0)",
        "lax.complex(lax.imag($0), lax.real($0))",
    ),
)
_TO_REAL = (
    "jnp.real($0)",
    "jnp.imag($0)",
    "jnp.abs($0)",
    "jnp.angle(3 + $0 / (1 + abs($0)))",
    "$0.real",
)
_BOOLEAN = ("~$0", "jnp.logical_not($0)", "$0 ^ True", "$0 & True")


def unary(draft: Draft) -> Value:
    """Appends an elementwise unary operation."""
    x = draft.pick()
    if x.kind.is_float:
        rough = not draft.smooth and draft.chance(0.25)
        text, dtype = draft.chooser.choice(_ROUGH if rough else _SMOOTH), x.kind.dtype
    elif x.kind.is_complex:
        texts = _TO_REAL if draft.chance(0.4) else _COMPLEX
        text = draft.chooser.choice(texts)
        dtype = draft.dtypes.real if texts is _TO_REAL else x.kind.dtype
    elif x.kind.is_integer:
        text, dtype = draft.chooser.choice(_INTEGER), x.kind.dtype
    else:
        text, dtype = draft.chooser.choice(_BOOLEAN), "bool"
    return draft.add(text, [x], x.kind.shape, dtype)


_ARITHMETIC = ("$0 + $1", "$0 - $1", "$0 * $1", "jnp.add($0, $1)", "jnp.multiply($0, $1)")
_FLOATS = (
    *("$0 / (2 + $1 * $1)", "jnp.arctan2($0, 2 + $1 * $1)", "jnp.logaddexp($0, $1)"),
    *(
        "jnp.power(1.5 + jnp.sin($0), jnp.sin($1))",
        "jnp.hypot(1 + $0 * $0, $1)",
        "jnp.sin($0) * $1",
    ),
)
_EXTREMES = (
    "jnp.maximum($0, $1)",
    "jnp.minimum($0, $1)",
    "jnp.fmax($0, $1)",
    "jnp.remainder($0, 1 + abs($1))",
)
_BITS = (
    "$0 & $1",
    "$0 | $1",
    "$0 ^ $1",
    "jnp.left_shift($0, $1 & 3)",
    "$0 // (1 + ($1 & 7))",
    "$0 % (1 + ($1 & 7))",
)
_COMPARISONS = (
    "$0 < $1",
    "$0 <= $1",
    "$0 == $1",
    "$0 != $1",
    "$0 > $1",
    "jnp.greater_equal($0, $1)",
)


def binary(draft: Draft) -> Value:
    """Appends an elementwise binary operation, whose operands may broadcast."""
    x = draft.pick()
    y = draft.like(x.kind)
    pair = [x, y] if draft.chance(0.5) else [y, x]
    dtype = draft.dtypes.promoted(x.kind.dtype, y.kind.dtype)
    shape = _broadcast(x.kind.shape, y.kind.shape)
    kind = Kind(shape, dtype)
    if kind.is_complex:
        return draft.add(draft.chooser.choice(_ARITHMETIC), pair, shape, dtype)
    if draft.chance(0.15):
        return draft.add(draft.chooser.choice(_COMPARISONS), pair, shape, "bool")
    if kind.is_float:
        texts = _FLOATS if draft.chance(0.4) else _ARITHMETIC
        if not draft.smooth and draft.chance(0.2):
            texts = _EXTREMES
    elif dtype == "bool":
        texts = ("$0 & $1", "$0 | $1", "$0 ^ $1", "jnp.logical_and($0, $1)")
    else:
        texts = _BITS if draft.chance(0.5) else _ARITHMETIC
        if "bool" in (x.kind.dtype, y.kind.dtype):
            texts = _ARITHMETIC[:3]
    return draft.add(draft.chooser.choice(texts), pair, shape, dtype)


def cast(draft: Draft) -> Value:
    """Appends a conversion to another dtype."""
    x = draft.pick()
    return draft.fit(x, Kind(x.kind.shape, draft.chooser.choice(draft.dtypes.every)))


def selected(draft: Draft) -> Value:
    """Appends an elementwise selection between arrays."""
    x = draft.pick()
    y = draft.fit(draft.pick(), x.kind)
    condition = draft.like(x.kind, "boolean")
    if draft.chance(0.2):
        condition = draft.fit(condition, Kind(x.kind.shape, "bool"))
        return draft.add("lax.select($0, $1, $2)", [condition, x, y], x.kind.shape, x.kind.dtype)
    if draft.chance(0.15):
        which = draft.fit(draft.pick("integer"), Kind(x.kind.shape, draft.dtypes.integer))
        text = "lax.select_n(jnp.clip($0, 0, 1).astype('int32'), $1, $2)"
        return draft.add(text, [which, x, y], x.kind.shape, x.kind.dtype)
    return draft.add("jnp.where($0, $1, $2)", [condition, x, y], x.kind.shape, x.kind.dtype)


# Small integers, their sums and their products are exact in floats of eight bits.
_EIGHTHS = (
    *("v + v", "v * v", "v - 1", "-v", "abs(v)", "jnp.maximum(v, 0)", "jnp.where(v > 0, v, -v)"),
    *("jnp.flip(v)", "jnp.sort(v.ravel()).reshape(v.shape)", "v.astype('float8_e5m2')", "v / 2"),
    *("jnp.sign(v)", "v.at[...].add(v)", "lax.cond(v.sum() > 0, lambda: v, lambda: -v)"),
    *("lax.scan(lambda c, _: (-c, None), v, None, length=3)[0]", "jax.vmap(jnp.negative)(v)"),
    (
        "lax.dot_general(v, v, (((), ()), ((0,), (0,))), preferred_element_type='float32')"
        ".reshape(v.shape)"
    ),
)


def eighths(draft: Draft) -> Value:
    """Appends an operation on small integers that are stored as 8-bit floats."""
    if draft.smooth:
        return unary(draft)
    x = draft.fit(draft.pick(), Kind((draft.chooser.randint(1, 4),), draft.dtypes.real))
    dtype = draft.chooser.choice(("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"))
    text = draft.chooser.choice(_EIGHTHS)
    text = (
        f"(lambda v: {text})(jnp.round(jnp.clip($0, -2, 2)).astype('{dtype}'))"
        f".astype('{x.kind.dtype}')"
    )
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)


def _broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    long, short = (left, right) if len(left) >= len(right) else (right, left)
    padded = (1,) * (len(long) - len(short)) + short
    return tuple(b if a == 1 else a for a, b in zip(long, padded, strict=True))
