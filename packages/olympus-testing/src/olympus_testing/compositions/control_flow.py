# SPDX-License-Identifier: Apache-2.0
"""Families of operations that call functions: loops, conditionals, custom rules and collectives.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft, random_kind
from .elementwise import unary
from .programs import Kind, Value

__all__ = [
    "RULES",
    "called",
    "chosen",
    "collective",
    "custom_jvp",
    "custom_vjp",
    "fori",
    "inner_derivative",
    "mapped",
    "referenced",
    "scanned",
    "while_loop",
]

_DEEPEST = 2


def scanned(draft: Draft) -> Value:
    """Appends a scan over the rows of an array, or a scan over no array with a given length."""
    if draft.depth >= _DEEPEST:
        return unary(draft)
    rows = draft.pick(rank=lambda rank: rank > 0)
    start = draft.pick()
    carry, row = start.kind, Kind(rows.kind.shape[1:], rows.kind.dtype)
    output = random_kind(draft.chooser, [*draft.dtypes.every, row.dtype], lambda rank: rank < 2)
    length = rows.kind.shape[0]
    kinds = [carry, Kind((length, *output.shape), output.dtype)]
    options = draft.chooser.choice(("", "", ", reverse=True", ", unroll=2"))
    layout = ("{0}, {1}", "{0}, {1}")
    if draft.chance(0.2):
        length = draft.chooser.randint(0, 3)
        kinds[1] = Kind((length, *output.shape), output.dtype)
        body = draft.body([carry], [carry, output], bounded=True, layout=("{0}, _", "{0}, {1}"))
        text = f"lax.scan($f0, $0, None, length={length}{options})"
        return draft.add_several(text, [start], kinds, [body])[draft.chooser.randrange(2)]
    body = draft.body([carry, row], [carry, output], bounded=True, layout=layout)
    text = f"lax.scan($f0, $0, $1{options})"
    results = draft.add_several(text, [start, rows], kinds, [body])
    return results[draft.chooser.randrange(2)]


def fori(draft: Draft) -> Value:
    """Appends a `fori_loop` with a static number of iterations."""
    if draft.depth >= _DEEPEST:
        return unary(draft)
    start = draft.pick()
    place = Kind((), draft.dtypes.integer)
    body = draft.body([place, start.kind], [start.kind], bounded=True, single=True)
    text = f"lax.fori_loop(0, {draft.chooser.randint(0, 3)}, $f0, $0)"
    return draft.add(text, [start], start.kind.shape, start.kind.dtype, [body])


def while_loop(draft: Draft) -> Value:
    """Appends a loop whose number of iterations depends on a value.

    The loop has no reverse-mode derivative.
    """
    if draft.depth >= _DEEPEST:
        return unary(draft)
    start = draft.pick()
    stop = draft.fit(draft.pick("integer"), Kind((), draft.dtypes.integer))
    number = Kind((), draft.dtypes.integer)
    body = draft.body([number, start.kind], [start.kind], bounded=True, single=True)
    text = (
        "lax.while_loop(lambda c: c[0] < $1 % 4, lambda c: (c[0] + 1, $f0(*c)), "
        f"(jnp.zeros((), '{number.dtype}'), $0))[1]"
    )
    return draft.add(text, [start, stop], start.kind.shape, start.kind.dtype, [body])


def chosen(draft: Draft) -> Value:
    """Appends a conditional with two or more branches."""
    if draft.depth >= _DEEPEST:
        return unary(draft)
    x = draft.pick()
    result = x.kind if draft.chance(0.6) else random_kind(draft.chooser, draft.dtypes.every)
    shape, dtype = result.shape, result.dtype
    if draft.chance(0.6):
        condition = draft.fit(draft.pick("boolean"), Kind((), "bool"))
        bodies = [draft.body([x.kind], [result], single=True) for _ in range(2)]
        return draft.add("lax.cond($0, $f0, $f1, $1)", [condition, x], shape, dtype, bodies)
    place = draft.fit(draft.pick("integer"), Kind((), draft.dtypes.integer))
    bodies = [draft.body([x.kind], [result], single=True) for _ in range(3)]
    text = "lax.switch($0, [$f0, $f1, $f2], $1)"
    return draft.add(text, [place, x], shape, dtype, bodies)


def mapped(draft: Draft) -> Value:
    """Appends a function applied to each row by `vmap` or `lax.map`, or an `associative_scan`."""
    if draft.depth >= _DEEPEST:
        return unary(draft)
    x = draft.sized(rank=lambda rank: rank > 0)
    size, row = x.kind.shape[0], Kind(x.kind.shape[1:], x.kind.dtype)
    if x.kind.dtype != "bool" and draft.chance(0.15):
        text = draft.chooser.choice(("jnp.add", "jnp.multiply"))
        return draft.add(f"lax.associative_scan({text}, $0)", [x], x.kind.shape, x.kind.dtype)
    result = random_kind(draft.chooser, draft.dtypes.every, lambda rank: rank < 3)
    body = draft.body([row], [result], single=True)
    shape = (size, *result.shape)
    text = draft.chooser.choice(
        ("jax.vmap($f0)($0)", "lax.map($f0, $0)", "jax.vmap($f0, axis_name='rows')($0)")
    )
    return draft.add(text, [x], shape, result.dtype, [body])


def called(draft: Draft) -> Value:
    """Appends a call of a compiled, rematerialized or named function."""
    if draft.depth >= _DEEPEST:
        return unary(draft)
    x, y = draft.pick(), draft.pick()
    result = random_kind(draft.chooser, draft.dtypes.every)
    body = draft.body([x.kind, y.kind], [result], single=True)
    text = draft.chooser.choice(
        (
            "jax.jit($f0)($0, $1)",
            "jax.jit($f0, inline=True)($0, $1)",
            "jax.checkpoint($f0)($0, $1)",
            "jax.checkpoint($f0, policy=jax.checkpoint_policies.dots_saveable)($0, $1)",
            "jax.checkpoint($f0, policy=jax.checkpoint_policies.everything_saveable)($0, $1)",
            "jax.named_call($f0, name='part')($0, $1)",
        )
    )
    return draft.add(text, [x, y], result.shape, result.dtype, [body])


#: Smooth functions and their derivatives, of one name.
RULES = (
    ("jnp.sin({0}) * 2", "2 * jnp.cos({0})"),
    ("{0} * {0} * {0}", "3 * {0} * {0}"),
    ("jnp.exp(-{0} * {0})", "-2 * {0} * jnp.exp(-{0} * {0})"),
    ("jnp.tanh({0})", "(1 - jnp.tanh({0}) ** 2)"),
)


def custom_jvp(draft: Draft) -> Value:
    """Appends a call of a function with a custom jvp rule. The rule is the true derivative."""
    x = draft.pick("float")
    value, slope = draft.chooser.choice(RULES)
    here, there = value.format("p[0]"), slope.format("p[0]")
    text = (
        f"(lambda h: [h.defjvp(lambda p, t: ({here}, {there} * t[0])), h($0)][1])"
        f"(jax.custom_jvp(lambda p: {value.format('p')}))"
    )
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)


def custom_vjp(draft: Draft) -> Value:
    """Appends a call of a function with a custom vjp rule, which has no jvp."""
    x = draft.pick("float")
    value, slope = draft.chooser.choice(RULES)
    text = (
        f"(lambda h: [h.defvjp(lambda p: ({value.format('p')}, p), lambda r, ct: "
        f"({slope.format('r')} * ct,)), h($0)][1])(jax.custom_vjp(lambda p: {value.format('p')}))"
    )
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)


def inner_derivative(draft: Draft) -> Value:
    """Appends the derivative of a function."""
    if draft.depth >= _DEEPEST:
        return unary(draft)
    x = draft.pick("float")
    if draft.chance(0.5):
        body = draft.body([x.kind], [Kind((), x.kind.dtype)], single=True)
        return draft.add("jax.grad($f0)($0)", [x], x.kind.shape, x.kind.dtype, [body])
    body = draft.body([x.kind], [x.kind], single=True)
    text = "jax.jvp($f0, ($0,), (jnp.ones_like($0),))[1]"
    return draft.add(text, [x], x.kind.shape, x.kind.dtype, [body])


_REFERENCES = (
    "(lambda r: [jax.ref.addupdate(r, ..., $1), r[...]][1])(jax.new_ref($0))",
    "(lambda r: [jax.ref.swap(r, 0, r[-1] * 2), r[...] + $1][1])(jax.new_ref($0))",
    (
        "(lambda r: [lax.fori_loop(0, 3, lambda i, c: [jax.ref.addupdate(r, i % r.shape[0], "
        "jnp.sin($1[0])), c][1], 0), r[...]][1])(jax.new_ref($0))"
    ),
    (
        "(lambda r: lax.scan(lambda c, y: [jax.ref.swap(r, ..., jnp.tanh(r[...] + y)), c][1:] "
        "+ [r[0]], None, $1)[1] + r[...])(jax.new_ref($0))"
    ),
)


def referenced(draft: Draft) -> Value:
    """Appends reads and writes of a mutable reference."""
    x = draft.sized("float", lambda rank: rank == 1)
    y = draft.fit(draft.pick("float"), x.kind)
    return draft.add(draft.chooser.choice(_REFERENCES), [x, y], x.kind.shape, x.kind.dtype)


# Functions of a vector over the axis 'i' that keep its shape.
_COLLECTIVES = (
    "lambda v: v - lax.pmean(v, 'i')",
    "lambda v: v * lax.axis_index('i') + lax.psum(v, 'i')",
    "lambda v: jnp.sin(lax.all_gather(v, 'i')).sum(0)",
    "lambda v: v + lax.ppermute(v, 'i', [(0, 1), (1, 0)])",
    "lambda v: lax.psum_scatter(lax.all_gather(v, 'i', tiled=True) * 2, 'i', tiled=True)",
    "lambda v: lax.all_gather(v, 'i', tiled=True)[: v.shape[0]] * lax.psum(1.0, 'i')",
    "lambda v: lax.psum(v * v, 'i') * v",
    "lambda v: lax.all_to_all(jnp.stack([v, 2 * v]), 'i', 0, 0).sum(0)",
    "lambda v: v / (1 + lax.psum(abs(v).sum(), 'i'))",
)


def collective(draft: Draft) -> Value:
    """Appends a collective over a mapped axis, or over devices."""
    x = draft.fit(draft.pick("float"), Kind((2, draft.chooser.randint(1, 3)), draft.dtypes.real))
    fun = draft.chooser.choice(_COLLECTIVES)
    if draft.devices < 2 or draft.depth or draft.chance(0.6):
        text = f"jax.vmap({fun}, axis_name='i')($0)"
    else:
        mesh = "jax.sharding.Mesh(jax.devices()[:2], ('i',))"
        spec = "jax.sharding.PartitionSpec('i')"
        text = (
            f"jax.shard_map(lambda m: ({fun})(m[0])[None], mesh={mesh}, in_specs={spec}, "
            f"out_specs={spec})($0)"
        )
    return draft.add(text, [x], x.kind.shape, x.kind.dtype)
