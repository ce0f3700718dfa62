# SPDX-License-Identifier: Apache-2.0
"""Families of `shard_map` with replicated results, partial axes and collectives in loops.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft
from .elementwise import unary
from .programs import Kind, Value

__all__ = ["over_meshes"]

_P = "jax.sharding.PartitionSpec"
# Functions of a part, the specs of argument and result, and options.
_MAPS = (
    ("lambda v: lax.psum(v, 'a')", f"{_P}('a')", f"{_P}()", ""),
    ("lambda v: lax.psum(v, ('a', 'b'))", f"{_P}('a', 'b')", f"{_P}()", ""),
    ("lambda v: lax.pmean(v, 'b')", f"{_P}('a', 'b')", f"{_P}('a')", ""),
    ("lambda v: lax.all_gather(v, 'a', tiled=True)", f"{_P}('a')", f"{_P}()", ", check_vma=False"),
    ("lambda v: v * 2 + lax.axis_index('a')", f"{_P}()", f"{_P}('a')", ""),
    ("lambda v: v * lax.psum(1, 'a')", f"{_P}('a')", f"{_P}('a')", ", axis_names={'a'}"),
    ("lambda v: lax.psum(jnp.sin(v), 'b')", f"{_P}(None, 'b')", f"{_P}()", ", axis_names={'b'}"),
    (
        (
            "lambda v: lax.while_loop(lambda c: lax.psum(c[0], 'a') < 5, lambda c: (c[0] + 1, c[1] "
            "* 0.5), (lax.axis_index('a'), v))[1]"
        ),
        f"{_P}('a')",
        f"{_P}('a')",
        "",
    ),
    (
        (
            "lambda v: lax.scan(lambda c, r: (lax.pmean(jnp.tanh(c * r.sum()), 'a') * "
            "(1 + 0 * r.sum()), r), v.sum(), v)[1]"
        ),
        f"{_P}('a')",
        f"{_P}('a')",
        ", check_vma=False",
    ),
    ("jax.jit(lambda v: lax.psum(v, 'a') - v)", f"{_P}('a')", f"{_P}('a')", ""),
    ("jax.checkpoint(lambda v: jnp.sin(lax.psum(v, 'a')))", f"{_P}('a')", f"{_P}()", ""),
    (
        "lambda v: jax.grad(lambda w: jnp.sum(lax.psum(w * w, 'a')))(v)",
        f"{_P}('a')",
        f"{_P}('a')",
        "",
    ),
    (
        "lambda v: lax.fori_loop(0, 2, lambda i, c: lax.ppermute(c, 'b', [(0, 1), (1, 0)]) + c, v)",
        f"{_P}('a', 'b')",
        f"{_P}('a', 'b')",
        "",
    ),
    (
        "lambda v: lax.cond(lax.psum(v.sum(), 'a') > 0, jnp.sin, jnp.cos, v)",
        f"{_P}('a')",
        f"{_P}('a')",
        "",
    ),
    (
        (
            "lambda v: v * jax.random.normal(jax.random.fold_in(jax.random.key(1), "
            "lax.axis_index('a')), v.shape, v.dtype)"
        ),
        f"{_P}('a')",
        f"{_P}('a')",
        "",
    ),
    (
        "lambda v: (lambda r: [jax.ref.addupdate(r, ..., v), r[...]][1])(jax.new_ref(v * 2))",
        f"{_P}('a', 'b')",
        f"{_P}('a', 'b')",
        "",
    ),
    ("lambda v: lax.pcast(lax.psum(v, 'a'), 'a', to='varying')", f"{_P}('a')", f"{_P}('a')", ""),
    ("lambda v: lax.psum_scatter(v, 'a', tiled=True)", f"{_P}('b')", f"{_P}(('b', 'a'))", ""),
    ("lambda v: jnp.linalg.solve(jnp.eye(2) * 3, v[:2])", f"{_P}('a')", f"{_P}('a')", ""),
)


def over_meshes(draft: Draft) -> Value:
    """Appends a `shard_map` over a mesh of two by two devices."""
    if draft.devices < 4 or draft.depth:
        return unary(draft)
    fun, given, wanted, options = draft.chooser.choice(_MAPS)
    x = draft.fit(draft.pick("float"), Kind((4, 4), draft.dtypes.real))
    mesh = "jax.sharding.Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ('a', 'b'))"
    text = f"jax.shard_map({fun}, mesh={mesh}, in_specs={given}, out_specs={wanted}{options})($0)"
    # Results are parts, so they are brought to one shape.
    text = f"jnp.resize({text}, (4, 4))"
    return draft.add(text, [x], (4, 4), x.kind.dtype)
