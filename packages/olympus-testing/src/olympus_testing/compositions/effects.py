# SPDX-License-Identifier: Apache-2.0
"""Families of calls with effects: callbacks into Python, messages and checks.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft
from .programs import Kind, Value

__all__ = ["called_back", "checked", "reported"]

_LIKE = "jax.ShapeDtypeStruct({0}.shape, {0}.dtype)"
_DOUBLED = f"jax.pure_callback(lambda w: np.asarray(w) * 2, {_LIKE}, {{0}}, vmap_method='{{1}}')"
_METHODS = ("sequential", "expand_dims", "broadcast_all", "legacy_vectorized")

# Calls of Python functions. "{m}" stands for the treatment of batches.
_WITH_RULE = (
    "(lambda h: [h.defjvp(lambda p, t: (h(p[0]), 2 * t[0])), h($0)][1])(jax.custom_jvp("
    f"lambda v: {_DOUBLED.format('v', '{m}')}))"
)
# Only the one with a rule has the derivatives that finite differences show.
_CALLBACKS = (
    _DOUBLED.format("lax.stop_gradient($0)", "{m}"),
    _WITH_RULE,
    (
        "lax.fori_loop(0, 2, lambda i, c: jnp.tanh("
        f"{_DOUBLED.format('c', '{m}')}), lax.stop_gradient($0))"
    ),
    (
        "lax.cond($0.sum() > 0, lambda v: "
        f"{_DOUBLED.format('v', '{m}')}, jnp.sin, lax.stop_gradient($0))"
    ),
    (
        "jax.experimental.io_callback(lambda w: np.asarray(w) * 3, "
        f"{_LIKE.format('$0')}, lax.stop_gradient($0))"
    ),
    f"jax.jit(lambda v: {_DOUBLED.format('v', '{m}')} + v)(lax.stop_gradient($0))",
)


def called_back(draft: Draft) -> Value:
    """Appends a call of a Python function that computes with NumPy, plain or in a loop."""
    x = draft.pick("float")
    callback = _WITH_RULE if draft.smooth else draft.chooser.choice(_CALLBACKS)
    text = callback.replace("{m}", draft.chooser.choice(_METHODS))
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)


_REPORTS = (
    "[jax.debug.print('{v}', v=$0), $0 * 2][1]",
    "[jax.debug.print('{}', $0, ordered=True), jnp.sin($0)][1]",
    (
        "lax.scan(lambda c, r: [jax.debug.callback(lambda v: None, c), (c * 0.5, None)][1], $0, "
        "jnp.arange(2))[0]"
    ),
    (
        "lax.while_loop(lambda c: c[0] < 2, lambda c: [jax.debug.print('{}', c[0]), (c[0] + 1, "
        "jnp.tanh(c[1]))][1], (0, $0))[1]"
    ),
    "jax.vmap(lambda v: [jax.debug.print('{}', v), v - 1][1])($0)",
    "jax.checkpoint(lambda v: [jax.debug.print('{}', v), jnp.cos(v)][1])($0)",
    "lax.cond($0.sum() > 0, lambda v: [jax.debug.print('{}', v), v][1], jnp.negative, $0)",
)


def reported(draft: Draft) -> Value:
    """Appends an operation beside a message or a debugging callback."""
    x = draft.sized("float", lambda rank: rank > 0)
    return draft.add(draft.chooser.choice(_REPORTS), [x], x.kind.shape, x.kind.dtype)


_CHECK = "jax.experimental.checkify.check"
_CHECKED = (
    f"lambda v: [{_CHECK}(jnp.all(v < 9), 'large'), jnp.sin(v)][1]",
    f"lambda v: [{_CHECK}(v.sum() > 0, 'sum {{s}}', s=v.sum()), v * v][1]",
    (
        f"lambda v: lax.scan(lambda c, i: [{_CHECK}(jnp.all(c < i), 'carry'), (jnp.tanh(c), "
        "None)][1], v, jnp.arange(3))[0]"
    ),
    (
        f"lambda v: lax.while_loop(lambda c: c[0] < 2, lambda c: [{_CHECK}(jnp.any(c[1] > 0), "
        "'none'), (c[0] + 1, c[1] * 0.5)][1], (0, v))[1]"
    ),
    f"lambda v: lax.cond(v.sum() > 0, lambda u: [{_CHECK}(u[0].sum() > 0, 'a'), u][1], jnp.sin, v)",
    f"lambda v: jax.vmap(lambda r: [{_CHECK}(r.sum() > 0, 'row'), r * 2][1])(v)",
    f"jax.jit(lambda v: [{_CHECK}(jnp.all(v < 0), 'sign'), v + 1][1])",
    "lambda v: jnp.log(v) * 0 + v",
    "lambda v: v[v.shape[0] - 1 + (v.sum() > 0)] + v",
    "lambda v: v / jnp.round(v)",
)
_ERRORS = ("user_checks", "all_checks", "float_checks", "index_checks", "nan_checks")


def checked(draft: Draft) -> Value:
    """Appends the result of a function under `checkify`."""
    value = draft.sized("float", lambda rank: rank > 0)
    x = draft.fit(value, Kind(value.kind.shape, draft.dtypes.real))
    checkify = "jax.experimental.checkify"
    errors = f"{checkify}.{draft.chooser.choice(_ERRORS)}"
    fun = draft.chooser.choice(_CHECKED)
    text = f"{checkify}.checkify({fun}, errors={errors})($0)[1]"
    if draft.chance(0.4):
        text = f"jax.jit({checkify}.checkify({fun}, errors={errors}))($0)[1]"
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)
