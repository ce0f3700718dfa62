# SPDX-License-Identifier: Apache-2.0
"""Bodies and branches of control flow are traced once, and forgotten with their functions."""

from __future__ import annotations

import functools
import gc
import weakref

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr

VECTOR = np.arange(3, dtype=np.float32)


def check(actual, expected):
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-6)


class TestTracing:
    """Bodies and branches are traced once, and forgotten with their functions."""

    def counted(self, result):
        calls = []

        def fun(*args):
            calls.append(args)
            return result(*args)

        return fun, calls

    def test_bodies_are_traced_once(self):
        body, calls = self.counted(lambda c, x: (lax.add(c, x), c))
        for _ in range(3):
            lax.scan(body, np.float32(0), VECTOR)
        make_olympuspr(lambda xs: lax.scan(body, np.float32(1), xs))(VECTOR)
        assert len(calls) == 1

    def test_traced_body_is_the_same_object(self):
        body, _ = self.counted(lambda c, x: (lax.add(c, x), c))

        def params():
            return make_olympuspr(lambda xs: lax.scan(body, np.float32(1), xs))(VECTOR).eqns[0]

        assert params().params["jaxpr"] is params().params["jaxpr"]

    def test_loops_and_branches_are_traced_once(self):
        below, below_calls = self.counted(lambda c: lax.lt(c, 3.0))
        body, body_calls = self.counted(lambda c: lax.add(c, 1.0))
        count, count_calls = self.counted(lambda i, c: lax.add(c, i))
        for _ in range(3):
            lax.while_loop(below, body, np.float32(0))
            lax.fori_loop(0, 3, count, 0)
            lax.cond(True, body, lax.sin, np.float32(1))
        assert len(below_calls) == 1
        assert len(count_calls) == 1
        assert len(body_calls) == 2  # for `while_loop` and for `cond`

    def test_other_types_are_traced_again(self):
        body, calls = self.counted(lambda c, x: (c, x))
        lax.scan(body, np.float32(0), VECTOR)
        lax.scan(body, np.float32(0), np.ones((2, 2), np.float32))
        assert len(calls) == 2

    def test_methods_are_traced_once(self):
        class Model:
            count = 0

            def step(self, c, x):
                self.count += 1
                return lax.add(c, x), c

            def add(self, i, c):
                self.count += 1
                return lax.add(i, c)

        model = Model()
        for _ in range(3):
            lax.scan(model.step, np.float32(0), VECTOR)
            check(lax.fori_loop(0, 3, model.add, 0), 3)
        assert model.count == 2

    def test_functions_with_tracers_are_traced_again(self):
        calls = []
        closed_over = None

        def body(c, x):
            calls.append(c)
            return lax.mul(c, closed_over), None

        def fun(scale):
            nonlocal closed_over
            closed_over = scale
            return lax.scan(body, np.float32(1), VECTOR)[0]

        check(jit(lambda s: fun(s))(np.float32(2)), 8.0)
        check(jit(lambda s: fun(s))(np.float32(3)), 27.0)
        assert len(calls) == 2

    def test_functions_are_not_kept_alive(self):
        def body(c, x):
            return lax.add(c, x), c

        def count(i, c):
            return lax.add(c, i)

        lax.scan(body, np.float32(0), VECTOR)
        lax.cond(True, body, lambda c, x: (c, c), np.float32(0), np.float32(0))
        lax.fori_loop(0, 2, count, 0)
        jit(functools.partial(lambda body, n: lax.fori_loop(0, n, body, 0), count))(2)
        references = [weakref.ref(body), weakref.ref(count)]
        del body, count
        gc.collect()
        assert [reference() for reference in references] == [None, None]
