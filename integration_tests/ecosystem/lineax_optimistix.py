# SPDX-License-Identifier: Apache-2.0
"""A linear system of Lineax and a minimum of Optimistix, with gradients through both."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import lineax as lx
import optimistix as optx

matrix = jr.normal(jr.key(0), (6, 6))
matrix = matrix @ matrix.T + jnp.eye(6)
vector = jr.normal(jr.key(1), (6,))
operator = lx.MatrixLinearOperator(matrix, lx.positive_semidefinite_tag)
expected = jnp.linalg.solve(matrix, vector)
for solver in (lx.AutoLinearSolver(well_posed=True), lx.CG(rtol=1e-6, atol=1e-6)):
    solution = lx.linear_solve(operator, vector, solver)
    assert jnp.allclose(solution.value, expected, atol=1e-3)
    assert solution.result == lx.RESULTS.successful


def solved(scale):
    return lx.linear_solve(lx.MatrixLinearOperator(scale * matrix), vector).value.sum()


assert jnp.allclose(jax.jit(jax.grad(solved))(2.0), -expected.sum() / 4, rtol=1e-3)


def rosenbrock(x, stiffness):
    return (1 - x[0]) ** 2 + stiffness * (x[1] - x[0] ** 2) ** 2


@eqx.filter_jit
def minimum(start, stiffness):
    solver = optx.BFGS(rtol=1e-6, atol=1e-6)
    return optx.minimise(rosenbrock, solver, start, args=stiffness, max_steps=500).value


start = jnp.array([-1.2, 1.0])
found = minimum(start, 100.0)
assert jnp.allclose(found, 1.0, atol=1e-2)


def root(value):
    """The cube root, whose gradient comes from the implicit function theorem."""
    solver = optx.Newton(rtol=1e-6, atol=1e-6)
    return optx.root_find(lambda y, args: y**3 - args, solver, jnp.array(1.5), args=value).value


assert jnp.allclose(jax.grad(root)(8.0), 1 / 12, rtol=1e-3)
print(f"{rosenbrock(start, 100.0):.6f} {rosenbrock(found, 100.0):.6f}")
