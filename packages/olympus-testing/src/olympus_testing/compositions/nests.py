# SPDX-License-Identifier: Apache-2.0
"""Families of loops, conditionals, `vmap`, references and meshes inside of one another.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft
from .elementwise import unary
from .programs import Kind, Value

__all__ = ["loops_of_choices", "nested_batches", "nested_references", "over_four_devices"]


def loops_of_choices(draft: Draft) -> Value:
    """Appends a loop with a conditional in its body, or a conditional with a loop in a branch."""
    if draft.depth:
        return unary(draft)
    x = draft.pick("float")
    stop = draft.fit(draft.pick("integer"), Kind((), draft.dtypes.integer))
    bodies = [draft.body([x.kind], [x.kind], bounded=True, single=True) for _ in range(2)]
    text = draft.chooser.choice(
        (
            (
                "lax.while_loop(lambda c: c[0] < $1 % 4, lambda c: (c[0] + 1, lax.cond(c[0] % 2 == "
                "0, $f0, $f1, c[1])), (jnp.zeros_like($1), $0))[1]"
            ),
            "lax.fori_loop(0, 3, lambda i, c: lax.cond(i == $1 % 3, $f0, $f1, c), $0)",
            (
                "lax.scan(lambda c, p: (lax.cond(p, $f0, $f1, c), None), $0, jnp.arange(3) > $1 % "
                "3)[0]"
            ),
            (
                "lax.cond($1 % 2 == 0, lambda v: lax.while_loop(lambda c: c[0] < 2, lambda c: "
                "(c[0] + 1, $f0(c[1])), (0, v))[1], $f1, $0)"
            ),
        )
    )
    return draft.add(text, [x, stop], x.kind.shape, x.kind.dtype, bodies)


def nested_batches(draft: Draft) -> Value:
    """Appends `vmap` of loops of `vmap`, or loops of `vmap` of loops."""
    if draft.depth:
        return unary(draft)
    x = draft.fit(draft.pick("float"), Kind((2, 3, 2), draft.dtypes.real))
    scalar = Kind((), x.kind.dtype)
    body = draft.body([scalar], [scalar], bounded=True, single=True)
    text = draft.chooser.choice(
        (
            (
                "jax.vmap(lambda m: lax.scan(lambda c, r: (jnp.tanh(c + jax.vmap($f0)(r).sum()), c "
                "* jax.vmap($f0)(r)), m[0, 0], m)[1])($0)"
            ),
            "jax.vmap(lambda m: lax.map(lambda r: jax.vmap($f0, axis_name='k')(r) - r, m))($0)",
            (
                "lax.scan(lambda c, m: (c + 1, jax.vmap(lambda r: lax.scan(lambda d, e: (d, $f0(e) "
                "* c), None, r)[1])(m)), $0[0, 0, 0], $0)[1]"
            ),
            "jax.vmap(lambda m: jax.vmap(jax.vmap($f0), 1, 1)(m), 2, 2)($0)",
            (
                "jax.vmap(lambda m: lax.scan(lambda c, r: (c, jax.vmap(jax.grad($f0))(r)), 0, "
                "m)[1])($0)"
            ),
        )
    )
    return draft.add(text, [x], x.kind.shape, x.kind.dtype, [body])


_REFERENCES = (
    (
        "jax.vmap(lambda v, w: (lambda r: [jax.ref.addupdate(r, 0, w.sum()), r[...]][1])"
        "(jax.new_ref(v * 2)))($0, $1)"
    ),
    (
        "(lambda r: [lax.cond($0.sum() > 0, lambda: jax.ref.addupdate(r, 0, $1[0]), lambda: "
        "jax.ref.addupdate(r, -1, $1[-1] * 2)), r[...]][1])(jax.new_ref($0))"
    ),
    (
        "(lambda r: [jax.jit(lambda s, v: [jax.ref.swap(s, slice(0, 1), v[:1]), None][1])(r, $1), "
        "r[...]][1])(jax.new_ref($0))"
    ),
    (
        "(lambda r: [lax.while_loop(lambda i: i < 3, lambda i: [jax.ref.addupdate(r, i % "
        "r.shape[0], $1[0]), i + 1][1], 0), r[...]][1])(jax.new_ref($0))"
    ),
    "(lambda r: [jax.ref.addupdate(r, ..., jnp.sin($1)), jax.freeze(r)][1])(jax.new_ref($0))",
    (
        "(lambda r, s: [jax.ref.swap(r, ..., s[...] * 2), jax.ref.addupdate(s, ..., r[...]), "
        "s[...]][2])(jax.new_ref($0), jax.new_ref($1))"
    ),
    (
        "jax.jvp(lambda v: (lambda r: [jax.ref.addupdate(r, 0, v.sum()), r[...]][1])(jax.new_ref(v "
        "* v)), ($0,), ($1,))[1]"
    ),
    (
        "jax.grad(lambda v: (lambda r: [jax.ref.swap(r, 0, v[-1] * v[0]), jnp.sum(r[...])][1])"
        "(jax.new_ref(jnp.sin(v))))($0[:, 0])[:, None] * $1"
    ),
)


def nested_references(draft: Draft) -> Value:
    """Appends reads and writes of references inside `vmap`, conditionals, loops and derivatives."""
    x = draft.fit(draft.pick("float"), Kind((3, 2), draft.dtypes.real))
    y = draft.fit(draft.pick("float"), x.kind)
    return draft.add(draft.chooser.choice(_REFERENCES), [x, y], x.kind.shape, x.kind.dtype)


# Functions of one device's shard of an array over the axes "a" and "b". Finite differences do not
# follow the first one.
_PARTS = (
    "lambda v: lax.pmax(lax.stop_gradient(v), 'a') * v",
    "lambda v: v - lax.pmean(v, ('a', 'b'))",
    "lambda v: v * lax.axis_index('b') + lax.psum(v, 'a')",
    "lambda v: lax.all_gather(v, 'b', axis=1, tiled=True)[:, :2] * jnp.sin(v)",
    "lambda v: v + lax.ppermute(v, ('a', 'b'), [(0, 1), (1, 2), (2, 3), (3, 0)])",
    "lambda v: lax.psum_scatter(lax.all_gather(v, 'a', tiled=True), 'a', tiled=True) + v",
    "lambda v: lax.all_to_all(v, 'b', 1, 0, tiled=True).T.reshape(2, 2)",
    "lambda v: lax.scan(lambda c, r: (c, lax.psum(r, 'a') * c), v, v)[1].sum(1)",
    "lambda v: jax.grad(lambda w: jnp.sum(w * lax.psum(w, 'b')))(v)",
    "lambda v: jax.vmap(lambda r: r - lax.psum(r, ('a', 'b')))(v)",
    "lambda v: lax.cond(lax.axis_index('a') == 0, jnp.sin, jnp.cos, v)",
    "lambda v: lax.fori_loop(0, 2, lambda i, c: jnp.tanh(c + lax.ppermute(c, 'a', [(0, 1)])), v)",
)


def over_four_devices(draft: Draft) -> Value:
    """Appends a `shard_map` of an array on a mesh of two by two devices."""
    if draft.devices < 4 or draft.depth:
        return unary(draft)
    x = draft.fit(draft.pick("float"), Kind((4, 4), draft.dtypes.real))
    mesh = "jax.sharding.Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ('a', 'b'))"
    spec = "jax.sharding.PartitionSpec('a', 'b')"
    fun = draft.chooser.choice(_PARTS[1:] if draft.smooth else _PARTS)
    text = f"jax.shard_map({fun}, mesh={mesh}, in_specs={spec}, out_specs={spec})($0)"
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)
