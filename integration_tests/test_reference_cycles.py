# SPDX-License-Identifier: Apache-2.0
"""Calls leave no reference cycles: their temporary objects are freed on return.

Objects in reference cycles, and the arrays that they hold, live until the collector looks at them.
Each function that takes a function is called once more than its caches need, and the collector must
find nothing.
"""

from __future__ import annotations

import gc
import importlib
import inspect

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, debug, export, lax
from olympus.custom_batching import custom_vmap, sequential_vmap
from olympus.custom_derivatives import linear_call
from olympus.experimental import checkify, custom_partitioning, io_callback, jet, ode, sparse
from olympus.scipy import optimize

# All public functions and classes of these modules that take a function have a case below.
NAMESPACES = (
    *("olympus", "olympus.lax", "olympus.numpy", "olympus.custom_derivatives"),
    *("olympus.custom_batching", "olympus.experimental", "olympus.experimental.checkify"),
    *("olympus.experimental.custom_partitioning", "olympus.experimental.jet"),
    *("olympus.experimental.ode", "olympus.experimental.sparse", "olympus.scipy.optimize"),
    "olympus.tree",
)
# Names that register or declare something for the whole process, or are helpers of such.
EXEMPT = {
    "explain": "it keeps the report of the call",
    "def_comp": "it declares a rule",
    "def_deriv": "it declares a rule",
    "deriv_prop": "it is a rule",
    "debug_callback": "debug.callback under another name",
    "broadcasting_vmap": "vmap without its checks",
    "nfold_vmap": "vmap, several times",
    "ravel_first_arg": "a helper of odeint",
    "random_bcoo": "the function draws numbers",
}


def scalar(x):
    return jnp.sum(jnp.sin(x) * x)


def vector(x):
    return jnp.sin(x) * x


def decayed(y, t):
    return -y


def custom_jvp():
    @olympus.custom_jvp
    def f(x):
        return jnp.sin(x)

    f.defjvp(lambda primals, tangents: (jnp.sin(primals[0]), jnp.cos(primals[0]) * tangents[0]))
    return olympus.jvp(f, (X,), (X,)), olympus.grad(lambda x: f(x).sum())(X)


def custom_vjp():
    @olympus.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (jnp.cos(x) * g,))
    return olympus.grad(lambda x: f(x).sum())(X)


def custom_vmap_call():
    @custom_vmap
    def f(x):
        return jnp.sin(x)

    f.def_vmap(lambda size, batched, x: (jnp.sin(x), True))
    return olympus.vmap(f)(X)


def custom_rule():
    f = olympus.custom_rule(lambda x: jnp.sin(x))
    f.def_vjp(lambda x: (jnp.sin(x), x), lambda x, ct: (jnp.cos(x) * ct,))
    return olympus.vmap(olympus.grad(f))(X)


def partitioned():
    @custom_partitioning.custom_partitioning
    def f(x):
        return jnp.sin(x)

    f.def_partition(
        partition=lambda mesh, args, result: (mesh, jnp.sin, result.sharding, (result.sharding,)),
        infer_sharding_from_operands=lambda mesh, args, result: args[0].sharding,
        sharding_rule="i -> i",
    )
    return olympus.jit(f)(X)


def failing(transformation):
    """Returns a call that raises inside the traced function."""

    def call():
        with pytest.raises(KeyError, match="missing"):
            transformation(lambda x: {}["missing"])(X)

    return call


def concretized():
    with pytest.raises(olympus.errors.TracerBoolConversionError):
        olympus.jit(lambda x: 1 if x > 0 else 0)(1.0)


def referencing(x):
    ref = olympus.new_ref(x)
    ref[0] = 2.0
    return ref[...]


def mesh():
    return olympus.sharding.Mesh(np.array(olympus.devices()[:1]), ("i",))


def mapped(function):
    return olympus.shard_map(function, mesh=mesh(), in_specs=P("i"), out_specs=P("i"))


def spread():
    with olympus.set_mesh(mesh()):
        f = olympus.smap(lambda x: x * 2, in_axes=0, out_axes=0, axis_name="i")
        return olympus.jit(f)(X)


X = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
S = np.float32(2.0)

CASES = {
    "jit": lambda: olympus.jit(lambda x: scalar(x))(X),
    "jit, grad": lambda: olympus.jit(olympus.grad(lambda x: scalar(x)))(X),
    "jit, lower": lambda: olympus.jit(lambda x: scalar(x)).lower(X).as_text(),
    "jit, compile": lambda: olympus.jit(lambda x: scalar(x)).lower(X).compile()(X),
    "jit, references": lambda: olympus.jit(lambda x: referencing(x))(X),
    "jit, disabled": lambda: olympus.disable_jit()(lambda: olympus.jit(lambda x: x * 2)(X))(),
    "jit, concretized": concretized,
    "jit, raises": failing(olympus.jit),
    "grad": lambda: olympus.grad(lambda x: scalar(x))(X),
    "grad, raises": failing(olympus.grad),
    "grad, jit": lambda: olympus.grad(olympus.jit(lambda x: scalar(x)))(X),
    "value_and_grad": lambda: olympus.value_and_grad(lambda x: scalar(x))(X),
    "vmap": lambda: olympus.vmap(lambda x: jnp.sin(x) * 2)(X),
    "vmap, raises": failing(olympus.vmap),
    "vmap, grad": lambda: olympus.vmap(olympus.grad(lambda x: x * jnp.sin(x)))(X),
    "vmap, jit": lambda: olympus.vmap(olympus.jit(lambda x: vector(x)))(X),
    "jvp": lambda: olympus.jvp(lambda x: scalar(x), (X,), (X,)),
    "jvp, grad": lambda: olympus.jvp(olympus.grad(lambda x: scalar(x)), (X,), (X,)),
    "vjp": lambda: olympus.vjp(lambda x: scalar(x), X)[1](np.float32(1)),
    "linearize": lambda: olympus.linearize(lambda x: scalar(x), X)[1](X),
    "linear_transpose": lambda: olympus.linear_transpose(lambda x: x * 2, X)(X),
    "fwd_and_bwd": lambda: olympus.fwd_and_bwd(lambda x: scalar(x), argnums=0)[0](X),
    "jacfwd": lambda: olympus.jacfwd(lambda x: vector(x))(X),
    "jacrev": lambda: olympus.jacrev(lambda x: vector(x))(X),
    "jacobian": lambda: olympus.jacobian(lambda x: vector(x))(X),
    "hessian": lambda: olympus.hessian(lambda x: scalar(x))(X),
    "taylor": lambda: olympus.taylor(lambda x: jnp.sin(x), S, 3),
    "hessian_product": lambda: olympus.hessian_product(lambda x: scalar(x), X, X),
    "hessian_diagonal": lambda: olympus.hessian_diagonal(lambda x: scalar(x), X),
    "gauss_newton_product": lambda: olympus.gauss_newton_product(
        lambda x: vector(x), lambda y: jnp.sum(y**2), X, X
    ),
    "gauss_newton_diagonal": lambda: olympus.gauss_newton_diagonal(
        lambda x: vector(x), lambda y: jnp.sum(y**2), X
    ),
    "fisher_product": lambda: olympus.fisher_product(
        lambda x: vector(x), lambda y: -jnp.sum(y**2), X, X
    ),
    "fisher_diagonal": lambda: olympus.fisher_diagonal(
        lambda x: vector(x), lambda y: -jnp.sum(y**2), X
    ),
    "smoothed": lambda: olympus.grad(
        olympus.smoothed(lambda x: jnp.floor(x), olympus.random.key(0), scale=1.0, samples=4)
    )(S),
    "root": lambda: olympus.grad(lambda a: olympus.root(lambda x, a: x * x - a, S, a))(S),
    "fixed_point": lambda: olympus.fixed_point(lambda x, a: jnp.cos(x) * a, S, S / 4),
    "argmin": lambda: olympus.argmin(lambda x, a: jnp.sum((x - a) ** 2), X, S),
    "checked": lambda: olympus.checked(lambda x: scalar(x))(X),
    "checkpoint": lambda: olympus.grad(olympus.checkpoint(lambda x: scalar(x)))(X),
    "remat": lambda: olympus.grad(
        olympus.remat(lambda x: scalar(x), policy=olympus.checkpoint_policies.dots_saveable)
    )(X),
    "custom_jvp": custom_jvp,
    "custom_vjp": custom_vjp,
    "custom_gradient": lambda: olympus.grad(
        olympus.custom_gradient(lambda x: (jnp.sum(x**2), lambda g: (g * x,)))
    )(X),
    "custom_rule": custom_rule,
    "custom_vmap": custom_vmap_call,
    "custom_partitioning": partitioned,
    "sequential_vmap": lambda: olympus.vmap(sequential_vmap(lambda x: jnp.sin(x)))(X),
    "linear_call": lambda: olympus.grad(
        lambda x: linear_call(lambda r, x: x * r, lambda r, g: g * r, S, x).sum()
    )(X),
    "closure_convert": lambda: olympus.closure_convert(lambda x: x * 2, X),
    "eval_shape": lambda: olympus.eval_shape(lambda x: scalar(x), X),
    "make_jaxpr": lambda: olympus.make_jaxpr(lambda x: scalar(x))(X),
    "make_olympuspr": lambda: olympus.make_olympuspr(lambda x: scalar(x))(X),
    "named_call": lambda: olympus.named_call(lambda x: x * 2)(X),
    "named_scope": lambda: olympus.named_scope("scope")(lambda x: x * 2)(X),
    "pmap": lambda: olympus.pmap(lambda x: x * 2)(X[None]),
    "shard_map": lambda: mapped(lambda x: x * 2)(X),
    "shard_map, jit": lambda: olympus.jit(mapped(lambda x: lax.psum(x, "i") + x))(X),
    "smap": spread,
    "make_array_from_callback": lambda: olympus.make_array_from_callback(
        X.shape, olympus.sharding.NamedSharding(mesh(), P("i")), lambda index: X[index]
    ),
    "pure_callback": lambda: olympus.pure_callback(lambda x: x, X, X),
    "pure_callback, jit": lambda: olympus.jit(lambda x: olympus.pure_callback(np.copy, X, x))(X),
    "io_callback": lambda: olympus.jit(lambda x: io_callback(np.copy, X, x))(X),
    "debug.callback": lambda: olympus.jit(lambda x: debug.callback(lambda x: None, x))(X),
    "scan": lambda: lax.scan(lambda c, x: (c + x, c * x), S, X),
    "scan, grad": lambda: olympus.grad(lambda x: lax.scan(lambda c, x: (c + x, c * x), 0.0, x)[0])(
        X
    ),
    "scan, checkpoint": lambda: olympus.grad(
        lambda x: lax.scan(olympus.checkpoint(lambda c, x: (c * x, c * x)), 1.0, x)[0]
    )(X),
    "scan, vmap": lambda: olympus.vmap(
        lambda x: lax.scan(lambda c, _: (c + x, c * x), 0.0, None, length=3)[0]
    )(X),
    "while_loop": lambda: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, X)
    ),
    "while_loop, jvp": lambda: olympus.jvp(
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1],
        (X,),
        (X,),
    ),
    "while_loop, vmap": lambda: olympus.vmap(
        lambda x: lax.while_loop(lambda c: c < 30, lambda c: c * 2, x)
    )(X),
    "fori_loop": lambda: lax.fori_loop(0, 3, lambda i, c: c * 2 + i, X),
    "fori_loop, grad": lambda: olympus.grad(
        lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2 + i, x).sum()
    )(X),
    "cond": lambda: lax.cond(X[0] > 0, lambda x: x * 2, lambda x: x * 3, X),
    "cond, grad": lambda: olympus.grad(
        lambda x: lax.cond(x[0] > 0, lambda x: x * 2, lambda x: x * 3, x).sum()
    )(X),
    "cond, one branch twice": lambda: olympus.grad(
        lambda x: lax.cond(x[0] > 0, vector, vector, x).sum()
    )(X),
    "cond, vmap": lambda: olympus.vmap(
        lambda x: lax.cond(x > 0, lambda x: x * 2, lambda x: x * 3, x)
    )(X),
    "switch": lambda: lax.switch(1, [lambda x: x * 2, lambda x: x * 3, lambda x: x], X),
    "map": lambda: lax.map(lambda x: x * 2, X),
    "map, batches": lambda: lax.map(lambda x: x * 2, X, batch_size=2),
    "associative_scan": lambda: lax.associative_scan(lambda a, b: a + b, X),
    "reduce": lambda: lax.reduce(X, np.float32(0), lambda a, b: a + b * 1, (0,)),
    "reduce_window": lambda: lax.reduce_window(
        X, np.float32(0), lambda a, b: a + b * 1, (2,), (1,), "VALID"
    ),
    "scatter_apply": lambda: lax.scatter_apply(
        X,
        np.array([[1]]),
        lambda x: x * 2,
        lax.ScatterDimensionNumbers((), (0,), (0,)),
        update_shape=(1,),
    ),
    "composite": lambda: olympus.jit(lambda x: lax.composite(jnp.sin, "my.sin")(x))(X),
    "platform_dependent": lambda: lax.platform_dependent(X, cpu=jnp.sin, default=jnp.cos),
    "custom_root": lambda: olympus.grad(
        lambda a: lax.custom_root(
            lambda y: y * y - a, 1.0, lambda f, y: jnp.sqrt(a), lambda g, y: y / g(1.0)
        )
    )(2.0),
    "custom_linear_solve": lambda: olympus.grad(
        lambda b: lax.custom_linear_solve(
            lambda v: 2 * v, b, lambda product, b: b / 2, lambda product, b: b / 2
        ).sum()
    )(X),
    "apply_along_axis": lambda: jnp.apply_along_axis(lambda a: a.sum(), 0, X),
    "einsum": lambda: jnp.einsum(
        "i,i", X, X, _dot_general=lambda *a, **k: lax.dot_general(*a, **k)
    ),
    "apply_over_axes": lambda: jnp.apply_over_axes(jnp.sum, X, [0]),
    "fromfunction": lambda: jnp.fromfunction(lambda i: i * 2, (3,)),
    "frompyfunc": lambda: jnp.frompyfunc(lambda a, b: a + b, 2, 1, identity=0).reduce(X),
    "ufunc": lambda: jnp.ufunc(lambda a, b: a + b, 2, 1).outer(X, X),
    "mask_indices": lambda: jnp.mask_indices(3, jnp.triu),
    "pad": lambda: jnp.pad(X, 1, lambda line, widths, axis, options: jnp.sin(line)),
    "piecewise": lambda: jnp.piecewise(X, [X > 2], [lambda x: x * 2, lambda x: x]),
    "vectorize": lambda: jnp.vectorize(lambda a: a * 2)(X),
    "checkify": lambda: checkify.checkify(
        olympus.jit(lambda x: jnp.sin(x)), errors=checkify.all_checks
    )(X),
    "jet": lambda: jet.jet(lambda x: jnp.sin(x), (X,), ((X, X),)),
    "jet2": lambda: jet.jet2(lambda x: jnp.sin(x), (X,), ((X, X),)),
    "odeint": lambda: ode.odeint(decayed, X, np.linspace(0, 1, 3, dtype=np.float32)),
    "sparsify": lambda: sparse.sparsify(lambda m: m @ X)(sparse.BCOO.fromdense(np.diag(X))),
    "sparse, grad": lambda: sparse.grad(lambda m: (m @ X).sum())(sparse.BCOO.fromdense(np.diag(X))),
    "minimize": lambda: optimize.minimize(lambda x: jnp.sum(x**2), X, method="BFGS"),
    "export": lambda: export.export(olympus.jit(lambda x: jnp.sin(x)))(X).call(X),
    "eager": lambda: jnp.sin(X) + X,
    "update": lambda: jnp.asarray(X).at[1].set(3.0),
    "random": lambda: olympus.random.normal(olympus.random.key(0), (3,)),
}
TREES = {
    "flatten_with_path": lambda: olympus.tree.flatten_with_path([X], is_leaf=lambda x: False),
    "flatten": lambda: olympus.tree.flatten([X], is_leaf=lambda x: False),
    "leaves_with_path": lambda: olympus.tree.leaves_with_path([X], is_leaf=lambda x: False),
    "map_with_path": lambda: olympus.tree.map_with_path(lambda path, x: x, [X]),
    "reduce_associative": lambda: olympus.tree.reduce_associative(lambda a, b: a + b, [X, X]),
    "tree.map": lambda: olympus.tree.map(lambda x: x, [X]),
    "tree.reduce": lambda: olympus.tree.reduce(lambda a, b: a + b, [X, X]),
}
CASES |= TREES


@pytest.fixture
def quiet_collector():
    """Keeps the collector from running by itself, and from looking at older objects."""
    gc.collect()
    gc.disable()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.parametrize("case", CASES)
def test_calls_create_no_reference_cycles(case, quiet_collector):
    call = CASES[case]
    for _ in range(3):  # fills caches
        call()
    gc.collect()
    call()
    assert gc.collect() == 0


def takes_function(value: object) -> bool:
    if not callable(value) or (isinstance(value, type) and issubclass(value, BaseException)):
        return False
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return False
    return any("Callable" in str(parameter.annotation) for parameter in parameters)


def test_each_function_of_functions_has_a_case():
    covered = {case.split(",")[0].rpartition(".")[2] for case in CASES} | set(EXEMPT)
    missing = []
    for namespace in NAMESPACES:
        module = importlib.import_module(namespace)
        names = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
        for name in names:
            if takes_function(getattr(module, name)) and name not in covered:
                missing.append(f"{namespace}.{name}")
    assert not missing
