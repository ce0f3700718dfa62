# SPDX-License-Identifier: Apache-2.0
"""Programs whose text test_printer.py compares with that of jax 0.10.2.

Each function takes a namespace with `lax`, `jit` and others (see `record_printed_programs.py` and
`test_printer.py`), which holds jax's functions or ours, and returns the function to be traced, its
arguments, and optionally keywords of `make_jaxpr` and of `pretty_print`.
"""

import numpy as np

PROGRAMS = {}
X = np.ones((3, 4), np.float32)
VECTOR = np.arange(3, dtype=np.float32)


def program(function):
    PROGRAMS[function.__name__] = function
    return function


# ---- layout ----


@program
def one_line(ns):
    return lambda x: ns.lax.sin(ns.lax.cos(x)), (1.0,)


@program
def no_equations(ns):
    return lambda x: x, (VECTOR,)


@program
def no_inputs(ns):
    return lambda: ns.lax.sin(1.0), ()


@program
def no_results(ns):
    return lambda x: None, (1.0,)


@program
def literal_results(ns):
    return lambda x: (1, 2.5, True, 1j, np.float32(0.1), np.int8(3)), (1.0,)


@program
def special_literals(ns):
    lax = ns.lax
    return (
        lambda x: [
            lax.mul(x, value)
            for value in (np.inf, np.nan, -1e30, 1e-30, 0.1, 1234567.0, 123456789.0)
        ],
        (VECTOR,),
    )


@program
def half_precision_literals(ns):
    return lambda x: ns.lax.mul(x, np.float16(0.1)), (VECTOR.astype(np.float16),)


@program
def many_inputs(ns):
    return lambda *xs: xs[0], (1.0,) * 12


@program
def more_inputs_and_results(ns):
    return lambda *xs: xs, (1.0,) * 40


@program
def many_operands(ns):
    return lambda *xs: ns.lax.concatenate(xs, 0), (np.ones(2, np.float32),) * 40


@program
def many_results(ns):
    return lambda x: ns.lax.split(x, [1] * 40), (np.ones(40, np.float32),)


@program
def many_constants(ns):
    constants = [np.ones(2, np.float32) for _ in range(20)]
    return lambda x: [ns.lax.mul(x, constant) for constant in constants], (constants[0],)


@program
def many_equations(ns):
    def chain(x):
        for _ in range(30):
            x = ns.lax.sin(x)
        return x

    return chain, (1.0,)


@program
def unused_results(ns):
    def fun(x):
        ns.lax.sin(x)
        return ns.lax.top_k(x, 2)[0]

    return fun, (VECTOR,)


def _named_axis(length):
    name = "n" * length

    def make(ns):
        return lambda: ns.lax.axis_index(name), (), {"axis_env": [(name, 2)]}

    make.__name__ = f"width_{length}"
    return make


for _length in (18, 19, 20, 21, 22):
    program(_named_axis(_length))


def _named_call(length):
    def make(ns):
        def fun(x):
            return x

        fun.__name__ = "n" * length
        return lambda x: (ns.jit(fun)(x), ns.lax.sin(x)), (1.0,)

    make.__name__ = f"width_of_parameters_{length}"
    return make


for _length in (14, 15, 16, 17):
    program(_named_call(_length))


@program
def without_shapes(ns):
    return lambda x: ns.lax.add(ns.lax.sin(x), 2.0), (1.0,), {}, {"print_shapes": False}


@program
def with_color(ns):
    fun = ns.jit(lambda x: ns.lax.add(ns.lax.sin(x), 2.0))
    return lambda x: ns.lax.sin(fun(x)), (VECTOR,), {}, {"use_color": True}


@program
def with_color_in_one_line(ns):
    return lambda x: ns.lax.add(ns.lax.sin(x), 2.0), (1.0,), {}, {"use_color": True}


@program
def with_source_info(ns):
    def inner(x):
        return ns.lax.mul(ns.lax.sin(x), 2.0)

    def fun(x):
        y = ns.lax.cos(x)
        return ns.jit(inner)(y)

    return fun, (1.0,), {}, {"source_info": True}


@program
def with_source_info_and_names(ns):
    def fun(x):
        with ns.named_scope("outer"):
            y = ns.lax.cos(x)
            with ns.named_scope("inner"):
                return ns.lax.scan(lambda c, _: (ns.lax.sin(c), None), y, None, length=2)

    return fun, (1.0,), {}, {"source_info": True, "name_stack": True}


@program
def with_colored_annotations(ns):
    def fun(x):
        with ns.named_scope("outer"):
            return ns.lax.cos(ns.lax.sin(x))

    return fun, (1.0,), {}, {"name_stack": True, "use_color": True, "width": 30}


@program
def with_effects(ns):
    def fun(x):
        ns.debug_print("x")
        return x

    return lambda x: ns.jit(fun)(x), (1.0,), {}, {"print_effects": True}


@program
def without_rules(ns):
    return (
        lambda x: ns.lax.mul(ns.lax.sin(x), ns.lax.broadcast_in_dim(1.0, (3,), ())),
        (VECTOR,),
        {},
        {"custom_pp_eqn_rules": False},
    )


# ---- calls ----


@program
def jit_call(ns):
    return lambda x: ns.jit(lambda y: ns.lax.mul(ns.lax.sin(y), 2.0))(x), (1.0,)


@program
def jit_of_same_operand_twice(ns):
    return lambda x: ns.jit(lambda y, z: ns.lax.mul(y, z))(x, x), (1.0,)


@program
def jit_of_literal(ns):
    return lambda x: ns.jit(lambda y: (x, y, 3.0, ns.lax.mul(y, x)))(2.0), (1.0,)


@program
def jit_of_jit(ns):
    return lambda x: ns.jit(lambda y: ns.jit(lambda z: ns.lax.mul(z, y))(y))(x), (1.0,)


@program
def jit_with_constant(ns):
    return lambda x: ns.jit(lambda y: ns.lax.mul(y, VECTOR))(x), (VECTOR,)


@program
def jit_with_unused_results(ns):
    fun = ns.jit(lambda x: (ns.lax.sin(x), ns.lax.cos(x), x))
    return lambda x: fun(x)[0], (1.0,)


@program
def jit_without_results(ns):
    return lambda x: ns.jit(lambda y, z: None)(x, x), (1,)


@program
def jit_with_options(ns):
    fun = ns.jit(lambda y, z: ns.lax.mul(y, 3.0), donate_argnums=1, keep_unused=True)
    return lambda x: fun(x, x), (1.0,)


@program
def jit_inline(ns):
    return lambda x: ns.jit(lambda y: ns.lax.mul(y, 3.0), inline=True)(x), (1.0,)


@program
def shared_calls(ns):
    @ns.jit
    def g(x):
        return ns.lax.mul(ns.lax.sin(x), 2.0)

    @ns.jit
    def h(x):
        return ns.lax.add(g(x), g(ns.lax.neg(x)))

    return lambda x: (h(x), h(ns.lax.neg(x)), g(x)), (1.0,)


@program
def shared_calls_in_one(ns):
    @ns.jit
    def g(x):
        return ns.lax.sin(x)

    @ns.jit
    def h(x):
        return ns.lax.add(g(x), g(ns.lax.neg(x)))

    return h, (1.0,)


@program
def shared_calls_of_one_name(ns):
    f = ns.jit(lambda x: ns.lax.sin(x))
    g = ns.jit(lambda x: ns.lax.add(f(x), 1.0))
    h = ns.jit(lambda x: ns.lax.mul(g(x), g(x)))
    k = ns.jit(lambda x: ns.lax.sub(x, 1.0))
    return lambda x: (k(x), h(x), k(x), h(x), f(x)), (1.0,)


@program
def shared_calls_of_two_types(ns):
    @ns.jit
    def g(x):
        return ns.lax.sin(x)

    return lambda x, y: (g(x), g(y), g(x), g(y)), (1.0, VECTOR)


@program
def shared_name_is_no_variable(ns):
    @ns.jit
    def b(x):
        return ns.lax.sin(x)

    return lambda x, y, z: (b(x), b(y), b(z)), (1.0, 1.0, 1.0)


@program
def shared_call_with_constant(ns):
    f = ns.jit(lambda x: ns.lax.mul(x, VECTOR))
    return lambda x: (f(x), f(x)), (VECTOR,)


@program
def shared_body(ns):
    def body(c, _):
        return ns.lax.sin(c), None

    def fun(x):
        x, _ = ns.lax.scan(body, x, None, length=3)
        return ns.lax.scan(body, x, None, length=4)[0]

    return fun, (1.0,)


def _long_call(length):
    def make(ns):
        def chain(x):
            for _ in range(length):
                x = ns.lax.sin(x)
            return x

        return lambda x: ns.jit(chain)(ns.jit(chain)(x)) if length % 2 else ns.jit(chain)(x), (1.0,)

    make.__name__ = f"long_call_{length}"
    return make


for _length in (10, 11, 12):
    program(_long_call(_length))


@program
def long_programs_in_long_programs(ns):
    lax = ns.lax

    def long(fun):
        def chain(x, *_):
            for _ in range(6):
                x = lax.sin(fun(lax.cos(x)))
            return x

        return chain

    def body(c, _):
        return long(lax.neg)(c), None

    def fun(x):
        y = ns.jit(long(lax.exp))(x)
        z, _ = lax.scan(body, y, None, length=2)
        return lax.cond(lax.gt(z, 0.0), long(lax.neg), lambda x: ns.jit(long(lax.tan))(x), z)

    return fun, (1.0,)


@program
def barrier(ns):
    return lambda x: ns.lax.optimization_barrier((x, x)), (1.0,)


# ---- control flow ----


@program
def cond(ns):
    return lambda x: ns.lax.cond(ns.lax.gt(x, 0.0), ns.lax.sin, ns.lax.cos, x), (1.0,)


@program
def cond_closing_over(ns):
    lax = ns.lax

    def fun(x, y):
        return lax.cond(
            lax.lt(x, 3.0),
            lambda c: lax.add(c, lax.mul(y, VECTOR)),
            lambda c: lax.mul(c, lax.mul(x, VECTOR)),
            VECTOR,
        )

    return fun, (1.0, np.float32(2.0))


@program
def cond_forwarding(ns):
    lax = ns.lax

    def fun(x):
        return lax.cond(
            lax.gt(x, 0.0),
            lambda: (x, lax.mul(x, 2.0), x, 1.0, VECTOR),
            lambda: (lax.mul(x, 2.0), x, x, 1.0, VECTOR),
        )

    return fun, (1.0,)


@program
def cond_of_constant(ns):
    return lambda x: ns.lax.cond(True, ns.lax.sin, ns.lax.cos, x), (1.0,)


@program
def cond_of_number(ns):
    return lambda x: ns.lax.cond(x, ns.lax.sin, ns.lax.cos, x), (1.0,)


@program
def cond_of_two_operands(ns):
    lax = ns.lax
    return lambda x: lax.cond(lax.gt(x, 0.0), x, lambda a: lax.add(a, 1.0), x, lambda a: a), (1.0,)


@program
def switch(ns):
    lax = ns.lax
    return lambda i, x: lax.switch(i, [lax.sin, lambda y: lax.mul(x, y), lax.cos], x), (1, 1.0)


@program
def switch_to_same(ns):
    return lambda i: ns.lax.switch(i, [ns.lax.sin] * 5, 1.0), (1,)


@program
def switch_to_many_same(ns):
    return lambda i: ns.lax.switch(i, [ns.lax.sin] * 12, 1.0), (1,)


@program
def while_loop(ns):
    lax = ns.lax

    def fun(x):
        return lax.while_loop(lambda c: lax.lt(c, 10.0), lambda c: lax.add(c, x), x)

    return fun, (1.0,)


@program
def while_closing_over(ns):
    lax = ns.lax

    def fun(x, y):
        z = lax.mul(x, 2.0)
        return lax.while_loop(
            lambda c: lax.lt(lax.reduce_sum(c, (0,)), z),
            lambda c: lax.add(c, lax.mul(VECTOR, y)),
            lax.mul(VECTOR, x),
        )

    return fun, (np.float32(1.0), np.float32(2.0))


@program
def while_forwarding(ns):
    lax = ns.lax

    def fun(x):
        return lax.while_loop(
            lambda c: lax.lt(c[0], 1.0), lambda c: (c[1], c[1], x, c[3]), (0.0, 0.0, x, x)
        )

    return fun, (VECTOR,)


@program
def while_of_promoted_carry(ns):
    lax = ns.lax

    def fun(x):
        def below(c):
            return lax.lt(lax.convert_element_type(c, np.float32), x)

        return lax.while_loop(below, lambda c: lax.mul(x, x), 0)

    return fun, (np.float32(1.0),)


@program
def fori_loop(ns):
    return lambda x: ns.lax.fori_loop(0, 10, lambda i, c: ns.lax.mul(c, x), x), (1.0,)


@program
def fori_loop_unrolled(ns):
    return lambda x: ns.lax.fori_loop(0, 10, lambda i, c: c, x, unroll=True), (1.0,)


@program
def fori_loop_of_traced_bound(ns):
    lax = ns.lax
    return lambda n: lax.fori_loop(0, n, lambda i, c: (c[0], lax.add(c[1], c[0])), (0, n)), (3,)


@program
def fori_loop_of_small_integers(ns):
    lax = ns.lax
    return (
        lambda n: lax.fori_loop(n, lax.add(n, np.int8(3)), lambda i, c: lax.add(c, i), n),
        (np.int8(1),),
    )


@program
def scan(ns):
    lax = ns.lax
    return lambda xs: lax.scan(lambda c, x: (lax.add(c, x), lax.mul(c, x)), 0.0, xs), (VECTOR,)


@program
def scan_closing_over(ns):
    lax = ns.lax

    def fun(xs, y):
        return lax.scan(lambda c, x: (lax.add(c, lax.mul(VECTOR, x)), None), y, xs, reverse=True)

    return fun, (VECTOR, VECTOR)


@program
def scan_forwarding(ns):
    lax = ns.lax

    def fun(x):
        def body(c, y):
            return (c[0], lax.add(c[1], lax.mul(VECTOR, x))), (c[0], y, c[1], x, 1.0)

        return lax.scan(body, (1, x), x)

    return fun, (VECTOR,)


@program
def scan_of_promoted_carry(ns):
    return lambda xs: ns.lax.scan(lambda c, x: (x, c), 0, xs), (VECTOR,)


@program
def scan_without_slices(ns):
    return lambda x: ns.lax.scan(lambda c, _: (c, None), x, None, length=3, unroll=2), (1.0,)


@program
def scan_of_nothing(ns):
    return lambda xs: ns.lax.scan(lambda c, x: (None, None), None, xs), (VECTOR,)


@program
def map_over_slices(ns):
    return lambda xs: ns.lax.map(lambda x: ns.lax.mul(x, 2.0), xs), (VECTOR,)


@program
def associative_scan(ns):
    return lambda xs: ns.lax.associative_scan(ns.lax.add, xs), (np.ones(5, np.float32),)


@program
def associative_scan_reversed(ns):
    return (
        lambda xs: ns.lax.associative_scan(ns.lax.mul, xs, reverse=True, axis=1),
        (np.ones((2, 3), np.float32),),
    )


# ---- collectives ----


def _collective(name, apply):
    def make(ns):
        return (
            lambda x: apply(ns.lax, x),
            (np.ones((2, 4), np.float32),),
            {"axis_env": [("i", 2), ("j", 3)]},
        )

    make.__name__ = name
    program(make)


_collective("psum", lambda lax, x: lax.psum(x, "i"))
_collective("psum_of_tree", lambda lax, x: lax.psum({"a": x, "b": 2.0}, ("i",)))
_collective("psum_of_constants", lambda lax, x: (lax.psum(2, ("i", "j")), lax.psum(1, "j")))
_collective("psum_of_boolean", lambda lax, x: lax.psum(lax.gt(x, 0.0), "i"))
_collective("psum_over_dimension", lambda lax, x: lax.psum(x, ("i", 0)))
_collective("psum_in_groups", lambda lax, x: lax.psum(x, "j", axis_index_groups=[[0, 1], [2]]))
_collective("pmean", lambda lax, x: lax.pmean(x, "i"))
_collective("pmean_of_integers", lambda lax, x: lax.pmean(lax.convert_element_type(x, int), "i"))
_collective("pmax", lambda lax, x: lax.pmax((x, 1), "i"))
_collective("pmin", lambda lax, x: lax.pmin(x, ("i", "j")))
_collective("axis_index", lambda lax, x: lax.axis_index("i"))
_collective("axis_index_of_two", lambda lax, x: lax.axis_index(("i", "j")))
_collective("axis_size", lambda lax, x: lax.axis_size(("i", "j")))
_collective("all_gather", lambda lax, x: lax.all_gather(x, ("i", "j"), axis=1))
_collective("all_gather_tiled", lambda lax, x: lax.all_gather(x, "i", axis=-1, tiled=True))
_collective("all_to_all", lambda lax, x: lax.all_to_all(x, "i", 0, 1))
_collective("all_to_all_in_place", lambda lax, x: lax.all_to_all(x, "i", 0, 0))
_collective("all_to_all_tiled", lambda lax, x: lax.all_to_all(x, "i", 1, 0, tiled=True))
_collective("ppermute", lambda lax, x: lax.ppermute(x, "i", [(0, 1), (1, 0)]))
_collective("pshuffle", lambda lax, x: lax.pshuffle(x, "i", [1, 0]))
_collective("pswapaxes", lambda lax, x: lax.pswapaxes(x, "i", 0))
_collective("psum_scatter", lambda lax, x: lax.psum_scatter(x, "i"))
_collective(
    "psum_scatter_tiled", lambda lax, x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True)
)
_collective("pbroadcast", lambda lax, x: lax.pbroadcast(x, "i", 0))


# ---- callbacks ----


@program
def debug_print(ns):
    return lambda x: ns.debug_print("x {} {y}", x, y="text", ordered=True), (1.0,)


@program
def pure_callback(ns):
    return (
        lambda x: ns.pure_callback(np.sin, np.zeros((), np.float32), x, vmap_method="sequential"),
        (1.0,),
    )


@program
def io_callback(ns):
    return lambda x: ns.io_callback(np.sin, np.zeros((), np.float32), x, ordered=True), (1.0,)


# ---- parameters of first-order primitives ----


def _operation(name, apply, *args):
    def make(ns):
        return lambda *operands: apply(ns.lax, *operands), args or (X,)

    make.__name__ = name
    program(make)


_operation("broadcast", lambda lax, x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)))
_operation("broadcast_scalar", lambda lax, x: lax.broadcast_in_dim(x, (2, 3), ()), 1.0)
_operation("convert", lambda lax, x: lax.convert_element_type(x, np.int8))
_operation("matmul", lambda lax, x: lax.dot(x, lax.transpose(x, (1, 0))))
_operation(
    "batched_matmul",
    lambda lax, x: lax.dot_general(
        x,
        x,
        (((1,), (1,)), ((0,), (0,))),
        precision="highest",
        preferred_element_type=np.float32,
    ),
)
_operation("exp2", lambda lax, x: lax.exp2(x))
_operation("slice", lambda lax, x: lax.slice(x, (0, 1), (2, 3)))
_operation("dynamic_slice", lambda lax, x: lax.dynamic_slice(x, (1, 0), (2, 2)))
_operation("pad", lambda lax, x: lax.pad(x, 0.0, ((0, 1, 2), (1, 1, 1))))
_operation("iota", lambda lax, x: lax.iota(np.int32, 5))
_operation("sort", lambda lax, x: lax.sort(x, dimension=0))
_operation("argmax", lambda lax, x: lax.argmax(x, 1, np.int32))
_operation("cumsum", lambda lax, x: lax.cumsum(x, axis=1, reverse=True))
_operation("clamp", lambda lax, x: lax.clamp(0.0, x, 1.0))
_operation("select", lambda lax, x: lax.select(lax.gt(x, 0.0), x, x))
_operation("reshape", lambda lax, x: lax.reshape(x, (4, 3)))
_operation("squeeze", lambda lax, x: lax.squeeze(lax.expand_dims(x, (1,)), (1,)))
_operation("reduce_precision", lambda lax, x: lax.reduce_precision(x, 5, 10))
_operation("bitcast", lambda lax, x: lax.bitcast_convert_type(x, np.int32))
_operation("integer_pow", lambda lax, x: lax.integer_pow(x, 3))
