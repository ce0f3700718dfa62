# SPDX-License-Identifier: Apache-2.0
"""Families of operations with structure: segments, solvers, spectra, trees, keys, calls.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft
from .elementwise import unary
from .programs import Kind, Value

__all__ = [
    "associated",
    "batched_loop",
    "carried_keys",
    "eigenvectors",
    "narrowed",
    "options_of_calls",
    "ragged",
    "segments",
    "solved",
    "spectra",
    "trees",
]


def segments(draft: Draft) -> Value:
    """Appends a segment sum or a segment product. Some segment ids may be out of bounds."""
    x = draft.sized("float", lambda rank: rank > 0)
    rows = Kind(x.kind.shape[:1], draft.dtypes.integer)
    indices = draft.fit(draft.pick("integer"), rows)
    name, ids = draft.chooser.choice(("sum", "prod")), draft.chooser.choice(("$1", "$1 % 3"))
    text = f"jax.ops.segment_{name}($0, {ids}, num_segments=3)"
    return draft.add(text, [x, indices], (3, *x.kind.shape[1:]), x.kind.dtype)


def ragged(draft: Draft) -> Value:
    """Appends a ragged product, or an einsum of three operands."""
    dtype = draft.dtypes.real
    x = draft.fit(draft.pick(), Kind((4, 2), dtype))
    if draft.chance(0.5):
        y = draft.fit(draft.pick(), Kind((2, 3), dtype))
        z = draft.fit(draft.pick(), Kind((3,), dtype))
        return draft.add("jnp.einsum('ij,jk,k->i', $0, $1, $2)", [x, y, z], (4,), dtype)
    y = draft.fit(draft.pick(), Kind((2, 2, 3), dtype))
    sizes = draft.chooser.choice(((1, 3), (0, 4), (4, 0), (2, 2)))
    text = f"lax.ragged_dot($0, $1, np.array({sizes}, 'int32'))"
    return draft.add(text, [x, y], (4, 3), dtype)


def spectra(draft: Draft) -> Value:
    """Appends the eigenvalues, the singular values or a function of a matrix.

    The eigenvalues and singular values are distinct, so they have derivatives.
    """
    size, dtype = draft.chooser.randint(1, 4), draft.dtypes.real
    a = draft.fit(draft.pick("inexact"), Kind((size, size), dtype))
    a = draft.add(
        f"jnp.tanh($0) + jnp.diag(4 * jnp.arange(1, {size + 1})).astype($0.dtype)",
        [a],
        (size, size),
        dtype,
    )
    text, shape = draft.chooser.choice(
        (
            ("jnp.linalg.eigvalsh($0 + $0.T)", (size,)),
            ("jnp.linalg.svd($0, compute_uv=False)", (size,)),
            ("jnp.linalg.slogdet($0)[1]", ()),
            ("jnp.linalg.det($0) / 100", ()),
            ("jax.scipy.linalg.expm($0 / 16)", (size, size)),
            ("jnp.linalg.pinv($0)", (size, size)),
        )
    )
    return draft.add(text, [a], shape, dtype)


# Functions of eigenvectors or singular vectors that do not depend on their signs or phases.
_VECTORS = (
    ("(lambda p: p[1] * p[1])(jnp.linalg.eigh($0 + $0.T))", "square"),
    ("(lambda p: (p[1] * jnp.sin(p[0])) @ p[1].T)(jnp.linalg.eigh($0 + $0.T))", "square"),
    ("(lambda p: jnp.einsum('ij,kj->jik', p[1], p[1]))(jnp.linalg.eigh($0 + $0.T))", "cube"),
    (
        "(lambda v: (v * v.conj()).real)(jnp.linalg.eigh($0 + $0.T + 0.5j * ($0 - $0.T))[1])",
        "square",
    ),
    ("(lambda p: p[0] * p[2].T)(jnp.linalg.svd($0))", "square"),
    ("(lambda p: p[0] ** 2 + p[2] ** 2)(jnp.linalg.svd($0, full_matrices=False))", "square"),
    ("jnp.linalg.qr($0)[0] ** 2", "square"),
    ("jnp.sort(jnp.linalg.eigvals($0).real)", "line"),
)


def eigenvectors(draft: Draft) -> Value:
    """Appends a function of the eigenvectors or singular vectors of a matrix.

    The eigenvalues and singular values are distinct, so the vectors have derivatives.
    """
    size, dtype = draft.chooser.randint(1, 3), draft.dtypes.real
    a = draft.fit(draft.pick("inexact"), Kind((size, size), dtype))
    spread = f"jnp.tanh($0) + jnp.diag(4 * jnp.arange(1, {size + 1})).astype($0.dtype)"
    a = draft.add(spread, [a], (size, size), dtype)
    text, form = draft.chooser.choice(_VECTORS)
    shape = {"line": (size,), "square": (size, size), "cube": (size, size, size)}[form]
    return draft.add(text, [a], shape, dtype)


def solved(draft: Draft) -> Value:
    """Appends the solution of an equation, by `custom_root` or `custom_linear_solve`."""
    x = draft.pick("float")
    y = draft.fit(draft.pick("float"), x.kind)
    root = (
        "lax.custom_root(lambda y: y * y * y + y - $0, jnp.zeros_like($0), lambda f, y: "
        "lax.fori_loop(0, 40, lambda i, y: y - (y * y * y + y - $0) / (3 * y * y + 1), y), "
        "lambda g, y: y / g(jnp.ones_like(y)))"
    )
    linear = (
        "(lambda d: lax.custom_linear_solve(lambda v: d * v, $1, lambda product, b: b / d, "
        "symmetric=True))(2 + jnp.tanh($0))"
    )
    text = draft.chooser.choice((root, linear)) if x.kind.dtype != "bfloat16" else linear
    operands = [x] if text is root else [x, y]
    return draft.add(text, operands, x.kind.shape, x.kind.dtype)


def associated(draft: Draft) -> Value:
    """Appends a linear recurrence, as an associative scan of pairs."""
    x = draft.sized("float", lambda rank: rank > 0)
    y = draft.fit(draft.pick(), x.kind)
    axis = draft.chooser.randrange(len(x.kind.shape))
    text = (
        "lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), "
        f"(jnp.tanh($0), $1), axis={axis}, reverse={draft.chance(0.3)})[1]"
    )
    return draft.add(text, [x, y], x.kind.shape, x.kind.dtype)


_KEYED = (
    (
        "lax.fori_loop(0, 3, lambda i, c: (jax.random.split(c[0])[1], "
        "c[1] + jax.random.uniform(c[0], c[1].shape, c[1].dtype)), (jax.random.key(3), $0))[1]"
    ),
    (
        "lax.scan(lambda c, k: (jnp.sin(c) * jax.random.uniform(k, (), c.dtype), None), $0, "
        "jax.random.split(jax.random.key(1), 3))[0]"
    ),
    (
        "jax.vmap(lambda k: $0 * jax.random.normal(k, (), $0.dtype))"
        "(jax.random.split(jax.random.key(2), 2)).sum(0)"
    ),
    (
        "$0 * jax.random.uniform(lax.cond($0.sum() > 0, lambda k: k, "
        "lambda k: jax.random.fold_in(k, 1), jax.random.key(4)), (), $0.dtype)"
    ),
)


def carried_keys(draft: Draft) -> Value:
    """Appends a loop or a conditional that carries random keys."""
    value = draft.pick("float")
    x = draft.fit(value, Kind(value.kind.shape, draft.dtypes.real))
    return draft.add(draft.chooser.choice(_KEYED), [x], x.kind.shape, x.kind.dtype)


_TREES = (
    (
        "jax.jit(lambda t: {{'a': jnp.sin(t['a']), 'b': None, 'c': ()}})"
        "({{'a': $0, 'b': None, 'c': ()}})['a']"
    ),
    "lax.cond($0.sum() > 0, lambda t: (t[0], None), lambda t: (2 * t[0], None), ($0, None))[0]",
    (
        "jax.vmap(lambda t: t['a'][0] * t['b'], ({{'a': (0, None), 'b': None}},), 0)"
        "({{'a': ($0, None), 'b': 2}})"
    ),
    (
        "lax.scan(lambda c, _: ({{'a': jnp.tanh(c['a']), 'b': None}}, ()), "
        "{{'a': $0, 'b': None}}, None, length=2)[0]['a']"
    ),
    "jax.vmap(lambda r: (r * r, None), {axis}, ({axis}, None))($0)[0]",
)


def trees(draft: Draft) -> Value:
    """Appends a call, a loop or a `vmap` over trees with None and empty containers."""
    x = draft.sized("float", lambda rank: rank > 0)
    axis = draft.chooser.randint(-1, 0)
    text = draft.chooser.choice(_TREES).format(axis=axis)
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)


_CALLS = (
    "jax.jit(lambda x, n: x * n, static_argnums=1)($0, 3)",
    "jax.jit(lambda x, *, n: jnp.sin(x) + n, static_argnames='n')($0, n=2)",
    "jax.jit(lambda x: jax.jit(lambda y: y * y)(x) + 1, keep_unused=True)($0)",
    "lax.optimization_barrier(($0, jnp.cos($0)))[1]",
    "jax.named_scope('scope')(lambda x: x * 2)($0)",
    (
        "jax.checkpoint(lambda x: jnp.sin(jax.ad_checkpoint.checkpoint_name(jnp.cos(x), 'c')), "
        "policy=jax.checkpoint_policies.save_only_these_names('c'))($0)"
    ),
    (
        "jax.checkpoint(lambda x: jnp.sin(jnp.exp(-x * x)), prevent_cse=False, "
        "policy=jax.checkpoint_policies.nothing_saveable)($0)"
    ),
    "jax.checkpoint(lambda x, n: jnp.sin(x) * n, static_argnums=1)($0, 2)",
    "jax.vmap(lambda s: $0 * s, axis_size=2, spmd_axis_name='i')(jnp.ones(2, $0.dtype))[1]",
    "jax.linearize(jnp.sin, $0)[1](jnp.ones_like($0))",
    "jax.linear_transpose(lambda v: 3 * v, $0)($0)[0]",
)


def options_of_calls(draft: Draft) -> Value:
    """Appends a call with an option: static arguments, scopes, barriers, policies."""
    x = draft.pick("float")
    return draft.add(draft.chooser.choice(_CALLS), [x], x.kind.shape, x.kind.dtype)


def batched_loop(draft: Draft) -> Value:
    """Appends a loop or a conditional under `vmap`, whose predicate differs between rows."""
    if draft.smooth:
        return unary(draft)
    x = draft.sized("float", lambda rank: rank > 0)
    row = draft.chooser.choice(
        (
            (
                "lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1 + abs(c[1]).max(), "
                "c[1] * 0.5), (r.sum() * 0, r))[1]"
            ),
            "lax.cond(r.sum() > 0, lambda v: jnp.sqrt(abs(v) + 1), lambda v: v * v, r)",
            (
                "lax.switch((r.sum() > 0) + (r.sum() > 1).astype('int32'), "
                "[jnp.sin, jnp.cos, lambda v: v + 1], r)"
            ),
            "lax.fori_loop(0, (r.sum() > 0).astype('int32') + 1, lambda i, v: jnp.tanh(v), r)",
        )
    )
    return draft.add(f"jax.vmap(lambda r: {row})($0)", [x], x.kind.shape, x.kind.dtype)


def narrowed(draft: Draft) -> Value:
    """Appends an operation in a dtype of few bits; the result is converted to a wider dtype."""
    if draft.smooth or draft.chance(0.5):
        x = draft.pick("integer")
        dtype = draft.chooser.choice(("int4", "int8", "uint4", "float8_e4m3fn", "float16"))
        text = f"jnp.abs(jnp.clip($0, 0, 4).astype('{dtype}')).astype('int32')"
        return draft.add(text, [x], x.kind.shape, "int32")
    value = draft.pick("float")
    x = draft.fit(value, Kind(value.kind.shape, draft.dtypes.real))
    name = draft.chooser.choice(("sin", "exp2", "tanh", "square"))
    text = f"jnp.{name}(jnp.clip($0, -4, 4).astype('float16')).astype('{x.kind.dtype}')"
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)
