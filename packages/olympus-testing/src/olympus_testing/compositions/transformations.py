# SPDX-License-Identifier: Apache-2.0
"""Source text of transformations, each of which keeps the parameters of the function."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from .programs import Kind, Transformation, Value

__all__ = ["ORDERS", "OUTERMOST", "transformations"]

Parameters = Sequence[Value]
#: The largest total number of elements of the results of a transformed function.
LARGEST = 400


def _kept(name: str, text: str) -> Callable[..., Transformation]:
    def transformed(
        chooser: random.Random, parameters: Parameters, results: tuple[Kind, ...]
    ) -> Transformation:
        return Transformation(name, text, results)

    return transformed


def _some_float(chooser: random.Random, parameters: Parameters) -> list[int]:
    """Returns the positions of the parameters to differentiate with respect to."""
    places = [at for at, value in enumerate(parameters) if value.kind.is_float]
    chooser.shuffle(places)
    return sorted(places[: chooser.randint(1, len(places))]) if places else []


def _partial(parameters: Parameters, places: Sequence[int]) -> tuple[str, str, str]:
    """Returns three texts: a lambda of some parameters, their names, and a tuple of the names.

    The lambda calls ``$f`` and closes over the other parameters.
    """
    names = [value.name for value in parameters]
    own = ", ".join(names[at] for at in places)
    return f"lambda {own}: $f({', '.join(names)})", own, f"({own},)"


def batched(
    chooser: random.Random, parameters: Parameters, results: tuple[Kind, ...]
) -> Transformation | None:
    """Returns a `vmap` over two examples: the given arguments, and changed arguments."""
    axes: list[int | None] = []
    for value in parameters:
        axis = chooser.randint(0, len(value.kind.shape))
        axes.append(None if chooser.random() < 0.2 else axis)
    if all(axis is None for axis in axes):
        axes[0] = 0
    changed = [_changed(value) for value in parameters]
    stacked, second = [], []
    for value, axis, other in zip(parameters, axes, changed, strict=True):
        stacked.append(
            value.name if axis is None else f"jnp.stack([{value.name}, {other}], {axis})"
        )
        second.append(value.name if axis is None else other)
    written = f"({', '.join(map(str, axes))},)"
    out = chooser.choice((0, 0, 0, -1))
    text = f"return jax.vmap($f, {written}, {out})({', '.join(stacked)})"
    if chooser.random() < 0.15:
        text = text.replace(f", {out})(", f", {out}, axis_name='batch')(")
    loop = (
        f"rows = [$f($args), $f({', '.join(second)})]\n"
        f"return tuple(jnp.stack(row, {out}) for row in zip(*rows))"
    )
    kinds = tuple(
        Kind((2, *kind.shape) if out == 0 else (*kind.shape, 2), kind.dtype) for kind in results
    )
    return Transformation("vmap", text, kinds, loop=loop)


def _changed(value: Value) -> str:
    if value.kind.dtype == "bool":
        return f"~{value.name}"
    return f"{value.name} * 0.5" if value.kind.is_inexact else f"{value.name} + 1"


def _tangents(parameters: Parameters, places: Sequence[int]) -> str:
    names = [f"jnp.cos({parameters[at].name} + {at + 1})" for at in places]
    return f"({', '.join(names)},)"


def pushed(
    chooser: random.Random, parameters: Parameters, results: tuple[Kind, ...]
) -> Transformation | None:
    """Returns a transformation into a function that returns the results and their tangents."""
    places = _some_float(chooser, parameters)
    inexact = [at for at, kind in enumerate(results) if kind.is_inexact]
    if not places or not inexact:
        return None
    fun, _, point = _partial(parameters, places)
    tangents = _tangents(parameters, places)
    first = f"y, t = jax.jvp({fun}, {point}, {tangents})"
    name = chooser.choice(("jvp", "linearize"))
    if name == "linearize":
        first = f"y, linear = jax.linearize({fun}, *{point})\nt = linear(*{tangents})"
    last = f"\nreturn (*y, {', '.join(f't[{at}]' for at in inexact)})"
    numeric = f"y, t = numeric.jvp({fun}, {point}, {tangents})" + last
    kinds = (*results, *(results[at] for at in inexact))
    return Transformation(name, first + last, kinds, numeric=numeric)


def pulled(
    chooser: random.Random, parameters: Parameters, results: tuple[Kind, ...]
) -> Transformation | None:
    """Returns a transformation into a function that returns results and parameters' cotangents."""
    places = _some_float(chooser, parameters)
    inexact = [at for at, kind in enumerate(results) if kind.is_inexact]
    if not places or not inexact:
        return None
    names = [value.name for value in parameters]
    own, point = (
        ", ".join(names[at] for at in places),
        f"({', '.join(names[at] for at in places)},)",
    )
    lines = [
        f"def part({own}):",
        f"    y = $f({', '.join(names)})",
        f"    return ({', '.join(f'y[{at}]' for at in inexact)},), y",
    ]
    cotangents = ", ".join(
        f"0.5 * jnp.cos(y[{at}])" if results[at].is_float else f"jnp.full_like(y[{at}], 0.3 + 0.7j)"
        for at in inexact
    )
    last = f"return (*y, *pull(({cotangents},)))"
    text = "\n".join([*lines, f"_, pull, y = jax.vjp(part, *{point}, has_aux=True)", last])
    numeric = "\n".join([*lines, f"_, pull, y = numeric.vjp(part, {point})", last])
    kinds = (*results, *(parameters[at].kind for at in places))
    return Transformation("vjp", text, kinds, numeric=numeric)


def _loss(parameters: Parameters, results: Sequence[Kind], places: Sequence[int]) -> list[str]:
    names = [value.name for value in parameters]
    terms = [
        f"jnp.sum(jnp.real(y[{at}]), dtype=jnp.float32)"
        if kind.dtype in ("bfloat16", "float32", "complex64")
        else f"jnp.sum(jnp.real(y[{at}]))"
        for at, kind in enumerate(results)
        if kind.is_inexact
    ]
    return [
        f"def loss({', '.join(names[at] for at in places)}):",
        f"    y = $f({', '.join(names)})",
        f"    return {' + '.join(terms)}",
    ]


def gradient(
    chooser: random.Random, parameters: Parameters, results: tuple[Kind, ...]
) -> Transformation | None:
    """Returns a transformation into the gradient of the sum of the results."""
    places = _some_float(chooser, parameters)
    if not places or not any(kind.is_inexact for kind in results):
        return None
    lines = _loss(parameters, results, places)
    argnums = tuple(range(len(places)))
    point = ", ".join(parameters[at].name for at in places)
    text = "\n".join([*lines, f"return jax.grad(loss, {argnums})({point})"])
    numeric = "\n".join([*lines, f"return numeric.grad(loss, ({point},))"])
    return Transformation(
        "grad", text, tuple(parameters[at].kind for at in places), numeric=numeric
    )


def hessian(
    chooser: random.Random, parameters: Parameters, results: tuple[Kind, ...]
) -> Transformation | None:
    """Returns a transformation into the Hessian of the sum of the results."""
    places = _some_float(chooser, parameters)[:1]
    if not places or not any(kind.is_inexact for kind in results):
        return None
    kind = parameters[places[0]].kind
    if kind.size**2 > 100:
        return None
    lines = _loss(parameters, results, places)
    text = "\n".join([*lines, f"return (jax.hessian(loss)({parameters[places[0]].name}),)"])
    return Transformation("hessian", text, (Kind(kind.shape * 2, kind.dtype),))


def jacobian(
    chooser: random.Random, parameters: Parameters, results: tuple[Kind, ...]
) -> Transformation | None:
    """Returns a transformation into the Jacobian of one result with respect to one parameter."""
    places = _some_float(chooser, parameters)[:1]
    inexact = [at for at, kind in enumerate(results) if kind.is_float]
    if not places or not inexact:
        return None
    out = chooser.choice(inexact)
    kind, result = parameters[places[0]].kind, results[out]
    fun, own, _ = _partial(parameters, places)
    name = chooser.choice(("jacfwd", "jacrev"))
    text = f"return (jax.{name}({fun}[{out}])({own}),)"
    dtype = result.dtype if name == "jacfwd" else kind.dtype
    return Transformation(name, text, (Kind(result.shape + kind.shape, dtype),))


def _policy(
    chooser: random.Random, parameters: Parameters, results: tuple[Kind, ...]
) -> Transformation:
    policy = chooser.choice(("", "", ", policy=jax.checkpoint_policies.dots_saveable"))
    return Transformation("checkpoint", f"return jax.checkpoint($f{policy})($args)", results)


def _sharded(
    chooser: random.Random, parameters: Parameters, results: tuple[Kind, ...]
) -> Transformation | None:
    places = {
        value.name: axis
        for value in parameters
        for axis, size in enumerate(value.kind.shape)
        if size and size % 2 == 0
    }
    if not places:
        return None
    lines = ["mesh = jax.sharding.Mesh(jax.devices()[:2], ('i',))"]
    for name, axis in places.items():
        spec = ", ".join(["None"] * axis + ["'i'"])
        lines.append(
            f"{name} = jax.device_put({name}, jax.sharding.NamedSharding(mesh, "
            f"jax.sharding.PartitionSpec({spec})))"
        )
    return Transformation("sharded", "\n".join([*lines, "return jax.jit($f)($args)"]), results)


_INNER = (
    batched,
    batched,
    pushed,
    pulled,
    gradient,
    hessian,
    jacobian,
    _policy,
    _kept("jit", "return jax.jit($f)($args)"),
    _kept(
        "make_jaxpr",
        "program = jax.make_jaxpr($f)($args)\n"
        "return tuple(jax.core.eval_jaxpr(program.jaxpr, program.consts, $args))",
    ),
)
#: The order of each derivative, by the name of the transformation.
ORDERS = {
    **dict.fromkeys(("jvp", "linearize", "vjp", "grad", "jacfwd", "jacrev"), 1),
    "hessian": 2,
}
#: Transformations that are applied last, to concrete arrays.
OUTERMOST = (
    _sharded,
    _kept(
        "export",
        "exported = jax.export.export(jax.jit($f))($args)\n"
        "return jax.export.deserialize(exported.serialize()).call($args)",
    ),
)


def transformations(
    chooser: random.Random,
    parameters: Parameters,
    results: tuple[Kind, ...],
    length: int,
    *,
    devices: int = 1,
) -> tuple[Transformation, ...]:
    """Returns transformations to apply one after another, the innermost first.

    Args:
      chooser: the source of randomness.
      parameters: the parameters of the function.
      results: the types of the function's results.
      length: the number of transformations to try; transformations that do not fit are left out.
      devices: the number of devices.
    """
    stack: list[Transformation] = []
    order = 0
    for _ in range(length):
        step = chooser.choice(_INNER)(chooser, parameters, results)
        if step is None or sum(kind.size for kind in step.results) > LARGEST:
            continue
        order += ORDERS.get(step.name, 0)
        if order > 3:  # programs of higher orders compile for minutes
            break
        stack.append(step)
        results = step.results
    if chooser.random() < 0.15:
        step = chooser.choice(OUTERMOST)(chooser, parameters, results)
        if step is not None and (devices > 1 or step.name != "sharded"):
            stack.append(step)
    return tuple(stack)
