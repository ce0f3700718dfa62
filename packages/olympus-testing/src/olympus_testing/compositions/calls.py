# SPDX-License-Identifier: Apache-2.0
"""Families of calls whose arguments are donated, static, or without derivatives.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .control_flow import RULES
from .drafts import Draft
from .programs import Kind, Value

__all__ = ["donated", "static", "without_derivatives"]

_DONATIONS = (
    "jax.jit(lambda a: a * 2 + a, donate_argnums=0)($0 + 0)",
    "jax.jit(lambda a, b: (b - a, a), donate_argnames='a')($0 * 1, $0)[0]",
    (
        "jax.jit(lambda t: {'a': t['b'], 'b': t['a'] * 2}, donate_argnums=0)({'a': $0 * 1, 'b': $0 "
        "+ 1})['b']"
    ),
    "lax.fori_loop(0, 2, lambda i, c: jax.jit(lambda a: a - 1, donate_argnums=0)(c), $0)",
    "jax.jit(lambda a: jnp.flip(a.ravel()).reshape(a.shape), donate_argnums=(0,))($0 + 0)",
)


def donated(draft: Draft) -> Value:
    """Appends a call that may reuse the memory of its argument, which nothing reads later."""
    x = draft.pick("float")
    return draft.add(draft.chooser.choice(_DONATIONS), [x], x.kind.shape, x.kind.dtype)


_STATIC = (
    "jax.jit(lambda x, s: getattr(jnp, s)(x, axis=0), static_argnums=1)($0, 'cumsum')",
    "jax.jit(lambda s, x, *, n: s(x) * n, static_argnums=0, static_argnames='n')(jnp.sin, $0, n=3)",
    "jax.jit(lambda x, s: jnp.reshape(x, s), static_argnames=('s',))($0, s=$0.shape)",
    "jax.jit(jax.vmap(lambda x, n: x * n, (0, None)), static_argnums=1)($0, 2)",
    "jax.jit(lambda x, *rest: x * rest[0] + rest[1], static_argnums=(1, -1))($0, 2, 1)",
    "jax.jit(jax.jit(lambda x, n: x - n, static_argnums=1), static_argnums=1)($0, 2)",
)


def static(draft: Draft) -> Value:
    """Appends a compiled call, some of whose arguments are static: no arrays."""
    x = draft.sized("float", lambda rank: rank > 0)
    return draft.add(draft.chooser.choice(_STATIC), [x], x.kind.shape, x.kind.dtype)


def without_derivatives(draft: Draft) -> Value:
    """Appends a call of a function with a custom rule and one nondifferentiable argument."""
    value = draft.pick("float")
    x = draft.fit(value, Kind(value.kind.shape, draft.dtypes.real))
    inner, slope = draft.chooser.choice(RULES)
    fun, first = f"lambda p: {inner.format('p')}", draft.chance(0.5)
    place = 0 if first else 1
    arguments = f"{fun}, $0" if first else f"$0, {fun}"
    names = "f, p" if first else "p, f"
    if draft.chance(0.5):
        text = (
            f"(lambda h: [h.defjvp(lambda f, p, t: (f(p[0]), {slope.format('p[0]')} * t[0])), "
            f"h({arguments})][1])(jax.custom_jvp(lambda {names}: f(p), nondiff_argnums=({place},)))"
        )
    else:
        text = (
            f"(lambda h: [h.defvjp(lambda {names}: (f(p), p), lambda f, r, ct: "
            f"({slope.format('r')} * ct,)), h({arguments})][1])(jax.custom_vjp("
            f"lambda {names}: f(p), nondiff_argnums=({place},)))"
        )
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)
