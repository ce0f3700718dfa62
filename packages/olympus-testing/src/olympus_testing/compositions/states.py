# SPDX-License-Identifier: Apache-2.0
"""Families of states of training: registered trees, partial functions, optimizers, carried keys.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft
from .programs import Kind, Value

__all__ = ["optimized", "partial", "random_loops", "registered", "state_in_loops"]

# Classes of trees with two fields. "{use}" stands for an expression that uses the class ``S``.
_CLASSES = (
    (
        "(lambda S: {use})(jax.tree_util.register_dataclass(dataclasses.make_dataclass('S', ('m', "
        "'v')), ('m', 'v'), ()))"
    ),
    "(lambda S: {use})(collections.namedtuple('S', 'm v'))",
)
_USES = (
    (
        "lax.scan(lambda s, _: (S(0.9 * s.m + 0.1 * s.v, jnp.tanh(s.v)), s.m.sum()), S($0, $0 * "
        "2), None, length=3)[0].m"
    ),
    "jax.vmap(lambda s: S(s.v, s.m))(S($0, $0 + 1)).m",
    "jax.grad(lambda s: jnp.sum(s.m * s.v))(S($0, $0 - 1)).v",
    "jax.jit(lambda s: jax.tree.map(jnp.sin, s))(S($0, None)).m",
    "lax.while_loop(lambda s: s.v < 2, lambda s: S(s.m * 0.5, s.v + 1), S($0, 0)).m",
    "lax.cond($0.sum() > 0, lambda s: s, lambda s: S(s.v, s.m), S($0, jnp.cos($0))).v",
    "jax.jvp(lambda s: S(s.m * s.v, s.m), (S($0, $0),), (S(jnp.ones_like($0), $0),))[1].m",
    "jax.vmap(lambda s: s.m * s.v, (S(0, None),))(S($0, jnp.ones((), $0.dtype)))",
    "jax.checkpoint(lambda s: S(jnp.sin(s.m), s.v))(S($0, $0)).m",
    "jax.jit(lambda s: S(s.m + 1, s.v), donate_argnums=0)(S($0 * 1, $0 * 2)).v",
    "jax.vjp(lambda s: S(s.m * s.v, s.v), S($0, $0 * 2))[1](S($0, jnp.zeros_like($0)))[0].m",
    "jax.flatten_util.ravel_pytree(S($0, $0 * 2))[1](jnp.arange(2 * $0.size).astype($0.dtype)).v",
)


def _rows(draft: Draft) -> Value:
    value = draft.sized("float", lambda rank: rank > 0)
    return draft.fit(value, Kind(value.kind.shape, draft.dtypes.real))


def registered(draft: Draft) -> Value:
    """Appends a transformation of a function of a registered class or a named tuple."""
    x = _rows(draft)
    use = draft.chooser.choice(_USES)
    text = draft.chooser.choice(_CLASSES).replace("{use}", use)
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)


_PARTIALS = (
    "jax.jit(lambda f, v: f(v))(jax.tree_util.Partial(jnp.multiply, $0), $0)",
    "jax.vmap(functools.partial(jnp.add, 1))($0)",
    "jax.jit(functools.partial(lambda n, v, *, k: v * n + k, 2, k=$0))($0)",
    "lax.scan(functools.partial(lambda k, c, r: (c * k, None), 0.5), $0, None, 2)[0]",
    "functools.partial(jax.jit, static_argnums=0)(lambda n, v: v - n)(2, $0)",
    "(lambda c: jax.jit(c().scaled)($0))(type('C', (), {'scaled': lambda self, v: v * 3}))",
    (
        "(lambda c: jax.jit(c.scaled, static_argnums=0)(c(), $0))(type('C', (), {'scaled': lambda "
        "self, v: v * 3}))"
    ),
    "jax.grad(functools.partial(lambda k, v: jnp.sum(k * v * v), 2.0))($0)",
    (
        "lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1], c[1](c[2])), (0, "
        "jax.tree_util.Partial(jnp.multiply, $0), $0))[2]"
    ),
    "jax.vjp(lambda v: jnp.sin(v), $0)[1]($0)[0]",
    "jax.jit(lambda v: jax.vjp(jnp.sin, v)[1])($0)(jnp.ones_like($0))[0]",
    "jax.jit(lambda v: jax.linearize(jnp.tanh, v)[1])($0)($0)",
)


def partial(draft: Draft) -> Value:
    """Appends a call of a partial function, of a method, or of a function that is a tree."""
    x = _rows(draft)
    return draft.add(draft.chooser.choice(_PARTIALS), [x], x.kind.shape, x.kind.dtype)


_LOSSES = (
    "lambda w: jnp.sum(jnp.sin(w) ** 2)",
    "lambda w: jnp.mean(jax.nn.softplus(w * w))",
    "lambda w: jax.nn.logsumexp(w) - w.ravel()[0]",
    "lambda w: jnp.sum(jax.checkpoint(jnp.tanh)(w) * w)",
)
_STEPS = (
    (
        "lax.fori_loop(0, 3, lambda i, s: (lambda g: (s[0] - 0.1 * (0.9 * s[1] + 0.1 * g) / "
        "(jnp.sqrt(0.99 * s[2] + 0.01 * g * g) + 0.1), 0.9 * s[1] + 0.1 * g, 0.99 * s[2] + 0.01 * "
        "g * g))(jax.grad(loss)(s[0])), ($0, jnp.zeros_like($0), jnp.zeros_like($0)))[0]"
    ),
    (
        "lax.scan(lambda s, _: (lambda y, g: (jax.tree.map(lambda p, d: p - 0.1 * d, s, g), y))"
        "(*jax.value_and_grad(lambda t: loss(t['w']))(s)), {'w': $0}, None, length=2)[0]['w']"
    ),
    "jax.jvp(jax.grad(loss), ($0,), (jnp.cos($0),))[1]",
    "jax.grad(lambda v: jnp.vdot(jax.grad(loss)(v), jnp.cos(v)))($0)",
    "(lambda y: jax.value_and_grad(lambda w: (loss(w), w * 2), has_aux=True)($0)[0][1] * y)(0.5)",
    "jax.vmap(jax.grad(lambda r: loss(r)))($0)",
    "jax.jit(jax.grad(lambda w: lax.fori_loop(0, 2, lambda i, c: c - loss(c * w), w).sum()))($0)",
    (
        "$0 * jnp.minimum(1, 1 / (1e-3 + jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves("
        "jax.grad(loss)($0))))))"
    ),
)


def optimized(draft: Draft) -> Value:
    """Appends steps of an optimizer, or products of a Hessian and a vector."""
    x = _rows(draft)
    loss, step = draft.chooser.choice(_LOSSES), draft.chooser.choice(_STEPS)
    return draft.add(f"(lambda loss: {step})({loss})", [x], x.kind.shape, x.kind.dtype)


_RANDOM = (
    (
        "jax.vmap(lambda k, v: lax.while_loop(lambda c: c[1] < 0.7, lambda c: (jax.random.split("
        "c[0])[0], c[1] + jax.random.uniform(c[0], (), v.dtype)), (k, jnp.zeros((), v.dtype)))[1] "
        "* v)(jax.random.split(jax.random.key(5), $0.shape[0]), $0)"
    ),
    "jax.random.permutation(jax.random.key(1), $0)",
    "jax.random.permutation(jax.random.key(1), $0, axis=-1, independent=True)",
    "jax.random.choice(jax.random.key(2), $0, $0.shape[:1])",
    (
        "$0 * jax.random.categorical(jax.random.key(3), $0)[..., None]"
        " if $0.ndim > 1 else $0 * jax.random.categorical(jax.random.key(3), $0)"
    ),
    "jax.random.truncated_normal(jax.random.key(4), $0 - 2, 1 + abs($0), dtype=$0.dtype)",
    "$0 * jax.vmap(lambda k: jax.random.poisson(k, 3.0))(jax.random.split(jax.random.key(6)))[0]",
    (
        "lax.scan(lambda k, r: (jax.random.fold_in(k, 1), r * jax.random.normal(k, r.shape, "
        "r.dtype)), jax.random.key(7), $0)[1]"
    ),
    "$0 * jax.random.normal(jax.random.wrap_key_data(jax.random.key_data(jax.random.key(8))))",
    "$0 * jax.random.dirichlet(jax.random.key(9), jnp.ones(2, $0.dtype))[0]",
    (
        "jax.vmap(lambda v, k: jax.random.bernoulli(k, jax.nn.sigmoid(v)).astype(v.dtype) * v, (0, "
        "None))($0, jax.random.key(10))"
    ),
    "$0 + jax.random.key_data(jnp.stack([jax.random.key(3), jax.random.key(4)])[::-1])[0, 1] % 7",
)

# Their derivatives are those of the distribution's quantiles. Differences of one sample do not
# follow them, since it may be accepted after another number of proposals.
_REJECTED_SAMPLES = (
    "$0 + jax.random.gamma(jax.random.key(4), 1 + abs($0), dtype=$0.dtype)",
    "jax.random.loggamma(jax.random.key(4), 1 + abs($0), dtype=$0.dtype) * 0.1",
)


def random_loops(draft: Draft) -> Value:
    """Appends samples of a distribution, whose keys are batched, carried, stacked or folded."""
    x = _rows(draft)
    samples = _RANDOM if draft.smooth else (*_RANDOM, *_REJECTED_SAMPLES)
    return draft.add(draft.chooser.choice(samples), [x], x.kind.shape, x.kind.dtype)


_NESTS = (
    (
        "(lambda r: [lax.scan(lambda c, v: (lax.fori_loop(0, 2, lambda i, d: [jax.ref.addupdate(r, "
        "i % r.shape[0], v * d), d * 0.5][1], c), None), jnp.ones((), $0.dtype), $0), r[...]][1])"
        "(jax.new_ref($0))"
    ),
    (
        "(lambda r: [lax.scan(lambda _, v: [lax.scan(lambda _, u: [jax.ref.addupdate(r, 0, u), "
        "(None, None)][1], None, jnp.stack([v, v * r[-1]])), (None, None)][1], None, $0), r[...]]"
        "[1])(jax.new_ref($0))"
    ),
    (
        "lax.scan(lambda c, v: (c, (lambda s: [jax.ref.addupdate(s, ..., c), s[...]][1])"
        "(jax.new_ref(v))), jnp.ones((), $0.dtype), $0)[1]"
    ),
    (
        "(lambda r: [jax.vmap(lambda v: v * r[0])($0), jax.ref.swap(r, ..., r[...] * 2), r[...]]"
        "[2])(jax.new_ref($0))"
    ),
    (
        "lax.fori_loop(0, 3, lambda i, c: lax.dynamic_update_slice(c, jnp.cos(lax.dynamic_slice(c, "
        "(i - 1,), (1,))), (2 - i,)), $0)"
    ),
    "lax.fori_loop(0, 3, lambda i, c: c.at[i].add(c[i - 1], mode='drop'), $0)",
    "lax.fori_loop(0, 3, lambda i, c: c.at[-i - 1].multiply(jnp.sin(c[i + 9])), $0)",
    (
        "lax.scan(lambda c, i: (lax.dynamic_update_index_in_dim(c, c[i] * 2, 2 - i, 0), None), $0, "
        "jnp.arange(-1, 3))[0]"
    ),
)


def state_in_loops(draft: Draft) -> Value:
    """Appends nested loops that update a reference, or windows of an array, in each iteration."""
    x = draft.fit(draft.pick("float"), Kind((draft.chooser.randint(1, 3),), draft.dtypes.real))
    return draft.add(draft.chooser.choice(_NESTS), [x], x.kind.shape, x.kind.dtype)
