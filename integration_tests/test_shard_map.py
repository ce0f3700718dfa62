# SPDX-License-Identifier: Apache-2.0
"""`shard_map` on eight emulated devices, compared with the function of unsharded arrays."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import checkpoint, checkpoint_name, checkpoint_policies, grad, jvp
from olympus_batching import vmap
from olympus_checkify import check, check_error, checkify
from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr
from olympus_numpy.linalg import solve
from olympus_sharding import DuplicateSpecError, Mesh, NamedSharding
from olympus_sharding import PartitionSpec as P
from olympus_sharding.manual.shard_map import shard_map
from olympus_xla import devices, jit

pytestmark = pytest.mark.usefixtures("eight_devices")

A = np.arange(32, dtype=np.float32).reshape(8, 4) / 32
B = np.arange(8, dtype=np.float32).reshape(4, 2) / 8


@pytest.fixture
def mesh():
    return Mesh(np.array(devices()).reshape(4, 2), ("x", "y"))


def dot(a, b):
    return lax.dot_general(a, b, (((1,), (0,)), ((), ())))


def total(x):
    return lax.reduce_sum(x, tuple(range(x.ndim)))


def whole(a, b):
    return lax.sin(dot(a, b))


def on_mesh(mesh, check_vma):
    return shard_map(
        lambda a, b: lax.sin(lax.psum(dot(a, b), "y")),
        mesh=mesh,
        in_specs=(P("x", "y"), P("y", None)),
        out_specs=P("x", None),
        check_vma=check_vma,
    )


def same(actual, expected):
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("check_vma", [True, False])
class TestProduct:
    def test_results_and_shardings(self, mesh, check_vma):
        parts = on_mesh(mesh, check_vma)
        for function in (parts, jit(parts)):
            result = function(A, B)
            same(result, whole(A, B))
            assert result.sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 2)

    def test_gradients_equal_those_of_the_whole_function(self, mesh, check_vma):
        parts = on_mesh(mesh, check_vma)
        expected = grad(lambda a, b: total(whole(a, b)), (0, 1))(A, B)
        derived = grad(lambda a, b: total(parts(a, b)), (0, 1))
        for function in (derived, jit(derived)):
            for actual, wanted in zip(function(A, B), expected, strict=True):
                same(actual, wanted)

    def test_tangents_equal_those_of_the_whole_function(self, mesh, check_vma):
        same(
            jvp(on_mesh(mesh, check_vma), (A, B), (B.sum() * A, B))[1],
            jvp(whole, (A, B), (B.sum() * A, B))[1],
        )

    def test_second_derivatives_equal_those_of_whole_function(self, mesh, check_vma):
        def second(function):
            first = grad(lambda a: total(function(a, B)))
            return grad(lambda a: total(lax.mul(first(a), a)))(A)

        same(second(on_mesh(mesh, check_vma)), second(whole))

    def test_batches_equal_those_of_the_whole_function(self, mesh, check_vma):
        stacked = (np.stack([A, A + 1]), np.stack([B, B - 1]))
        same(vmap(on_mesh(mesh, check_vma))(*stacked), vmap(whole)(*stacked))
        same(
            vmap(on_mesh(mesh, check_vma), in_axes=(None, 2))(A, np.stack([B, -B], axis=2)),
            vmap(whole, in_axes=(None, 2))(A, np.stack([B, -B], axis=2)),
        )


def blocks(array, count):
    return np.split(array, count, axis=0)


COLLECTIVES = {
    "psum": (lambda a: lax.psum(a, "x"), P("x"), P(), sum(blocks(A, 4))),
    "pmean": (lambda a: lax.pmean(a, "x"), P("x"), P(), sum(blocks(A, 4)) / 4),
    "pmax": (lambda a: lax.pmax(a, "x"), P("x"), P(), np.max(blocks(A, 4), axis=0)),
    "pmin": (lambda a: lax.pmin(a, "x"), P("x"), P(), np.min(blocks(A, 4), axis=0)),
    "psum over both axes": (
        lambda a: lax.psum(a, ("x", "y")),
        P(("x", "y")),
        P(),
        sum(blocks(A, 8)),
    ),
    "all_gather": (
        lambda a: lax.all_gather(a, "x", axis=0, tiled=True),
        P("x"),
        P("x"),
        np.concatenate([A] * 4),
    ),
    "psum_scatter": (
        lambda a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True),
        P("x"),
        P(None, "x"),
        sum(blocks(A, 4)),
    ),
    "all_to_all": (
        lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True),
        P("x"),
        P(None, "x"),
        A,
    ),
    "ppermute": (
        lambda a: lax.ppermute(a, "x", [(i, (i + 1) % 4) for i in range(4)]),
        P("x"),
        P("x"),
        np.roll(A, 2, axis=0),
    ),
    "ppermute to some": (
        lambda a: lax.ppermute(a, "x", [(0, 3)]),
        P("x"),
        P("x"),
        np.concatenate([np.zeros((6, 4)), A[:2]]),
    ),
    "axis_index": (
        lambda a: lax.broadcast_in_dim(lax.axis_index(("x", "y")), (1,), ()),
        P(("x", "y")),
        P(("x", "y")),
        np.arange(8),
    ),
}


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("check_vma", [True, False])
def test_collectives_equal_operations_on_whole_arrays(mesh, name, check_vma):
    function, in_specs, out_specs, expected = COLLECTIVES[name]
    mapped = shard_map(
        function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma
    )
    same(mapped(A), expected)
    same(jit(mapped)(A), expected)


@pytest.mark.parametrize("name", [each for each in COLLECTIVES if each != "axis_index"])
def test_derivatives_of_collectives(mesh, name):
    """The derivative of a sum of results is the same however types keep track of variation."""
    function, in_specs, out_specs, _ = COLLECTIVES[name]
    weights = np.linspace(0.5, 1.5, 100, dtype=np.float32)

    def loss(check_vma):
        mapped = shard_map(
            function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma
        )

        def weighted(a):
            result = mapped(a)
            return total(lax.mul(result, np.resize(weights, result.shape)))

        return weighted

    gradient = grad(loss(True))(A)
    same(gradient, grad(loss(False))(A))
    direction = np.cos(np.arange(32, dtype=np.float32)).reshape(8, 4)
    _, tangent = jvp(loss(True), (A,), (direction,))
    same(np.vdot(np.asarray(gradient), direction), tangent)


def test_program_is_written_as_in_jax(mesh):
    parts = shard_map(
        lambda a, b: lax.psum(dot(a, b), "y"),
        mesh=mesh,
        in_specs=(P("x", "y"), P("y", None)),
        out_specs=P("x", None),
    )
    text = str(make_olympuspr(parts)(A, B))
    assert "d:f32[2,2]{V:(x,y)} e:f32[2,2]{V:y}" in text
    assert "pvary[axes=('x',)] e" in text
    assert "h:f32[2,2]{V:x} = psum_invariant[axes=('y',)] g" in text


def test_checkpoint_policies_apply_inside(mesh):
    def f(a):
        def body(part):
            return lax.sin(checkpoint_name(lax.log(part), "a"))

        mapped = shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
        return lax.reduce_sum(mapped(a), (0, 1))

    policies = checkpoint_policies
    for policy, logarithms in (
        (policies.nothing_saveable, 2),
        (policies.save_only_these_names("a"), 1),
        (policies.everything_saveable, 1),
    ):
        derivative = grad(checkpoint(f, policy=policy))
        assert str(make_olympuspr(derivative)(A + 1)).count("= log ") == logarithms
        same(jit(derivative)(A + 1), np.cos(np.log(A + 1)) / (A + 1))


def test_closed_over_values(mesh):
    scale = jit(lambda x: lax.add(x, 1.0))(np.ones((2, 4), np.float32))

    @jit
    def function(a, factor):
        return shard_map(
            lambda part: lax.mul(lax.mul(part, scale), factor),
            mesh=mesh,
            in_specs=P("x"),
            out_specs=P("x"),
        )(a)

    same(function(A, 3.0), A * 2 * 3)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32, np.complex64])
def test_invarying_all_gather_keeps_the_dtype(mesh, dtype):
    x = np.array([1, 0, 1, 1, 0, 1, 1, 0]).astype(dtype)

    def gathered(part):
        return lax.all_gather(part, "x", to="invarying", tiled=True)

    result = shard_map(gathered, mesh=mesh, in_specs=P("x"), out_specs=P())(x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, x)


def test_collectives_over_one_device_are_identities():
    single = Mesh(np.array(devices()[:1]), ("x",))
    for name in ("psum", "all_gather", "ppermute to some", "psum_scatter", "all_to_all"):
        function, in_specs, out_specs, _ = COLLECTIVES[name]
        if name == "ppermute to some":

            def function(a):
                return lax.ppermute(a, "x", [(0, 0)])

        mapped = shard_map(function, mesh=single, in_specs=in_specs, out_specs=out_specs)
        same(mapped(A), A)


class TestErrors:
    def call(self, mesh, function=lambda a: a, args=(A,), **specs):
        specs = {"in_specs": P("x"), "out_specs": P("x"), **specs}
        return shard_map(function, mesh=mesh, **specs)(*args)

    def test_unknown_axes_in_specs_raise(self, mesh):
        with pytest.raises(ValueError, match="in_specs refers to 'z'"):
            self.call(mesh, in_specs=P("z"))
        with pytest.raises(ValueError, match="out_specs refers to 'z'"):
            self.call(mesh, out_specs=P("z"))
        with pytest.raises(NameError, match="unbound axis name: z"):
            self.call(mesh, lambda a: lax.psum(a, "z"))

    @pytest.mark.parametrize("option", ["in_specs", "out_specs"])
    def test_axes_that_a_spec_mentions_twice_raise(self, mesh, option):
        words = f"A single shard_map {option} specification .* duplicate entries for `x`"
        with pytest.raises(DuplicateSpecError, match=words):
            self.call(mesh, **{option: P("x", "x")})

    def test_indivisible_size_raises(self, mesh):
        with pytest.raises(ValueError, match=r"a of shape float32\[6\].*into 4 parts"):
            self.call(mesh, args=(np.ones(6, np.float32),))

    def test_varying_results_with_replicated_specs_raise(self, mesh):
        with pytest.raises(ValueError, match=r"can't be statically inferred.*along 'x'"):
            self.call(mesh, out_specs=P())

    def test_spec_longer_than_the_rank_raises(self, mesh):
        with pytest.raises(ValueError, match="too long"):
            self.call(mesh, in_specs=P("x", None, None))
        with pytest.raises(ValueError, match="rank 0"):
            self.call(mesh, total)

    def test_mismatched_spec_structure_raises(self, mesh):
        with pytest.raises(ValueError, match="in_specs must be a prefix"):
            self.call(mesh, in_specs=(P("x"), P("y")))
        with pytest.raises(TypeError, match="pytree of PartitionSpec"):
            self.call(mesh, in_specs="x")

    def test_missing_mesh_raises(self):
        with pytest.raises(ValueError, match="context mesh cannot be empty"):
            self.call(None)


def test_varying_linear_systems(mesh):
    """Transposition solves each shard's system separately, without a sum over the mesh."""
    a, b = np.ones((8, 2, 2), np.float32), np.ones((8, 2, 1), np.float32)
    parts = shard_map(solve, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    text = str(make_olympuspr(parts)(a, b))
    assert "custom_linear_solve" in text
    assert "psum" not in text


class TestChecks:
    """Errors of checkify on each device."""

    @staticmethod
    def mapped(mesh, check_vma=True):
        def positive(x):
            check(lax.reduce_and(lax.gt(x, np.float32(0)), (0, 1)), "got {}", total(x))
            return lax.add(x, np.float32(1))

        specs = {"in_specs": P(("x", "y")), "out_specs": P(("x", "y"))}
        return shard_map(positive, mesh=mesh, check_vma=check_vma, **specs)

    @pytest.mark.parametrize("check_vma", [True, False])
    @pytest.mark.parametrize("transform", [lambda fun: fun, jit])
    def test_checkify_reports_errors_per_device(self, mesh, check_vma, transform):
        fun = checkify(transform(self.mapped(mesh, check_vma)))
        x = np.ones((8, 3), np.float32)
        error, out = fun(x)
        assert error.get() is None
        np.testing.assert_array_equal(out, x + 1)
        x[[2, 5]] = -1
        error, out = fun(x)
        np.testing.assert_array_equal(out, x + 1)
        assert error.get() == (
            "at mapped index 2: got -3.0 (`check` failed)\n"
            "at mapped index 5: got -3.0 (`check` failed)"
        )

    def test_last_error_is_raised(self, mesh):
        x = np.ones((8, 3), np.float32)
        x[2], x[5] = -1, -2
        error, _ = checkify(self.mapped(mesh))(x)
        with pytest.raises(ValueError) as raised:
            error.throw()
        first, place, _ = str(raised.value).splitlines()
        assert first == "got -6.0 (`check` failed)"
        assert place.startswith(f"at {__file__}:")

        def check_again(x):
            check_error(checkify(self.mapped(mesh))(x)[0])

        assert checkify(jit(check_again))(x)[0].get() == "got -6.0 (`check` failed)"

    def test_loops_keep_the_first_error(self, mesh):
        def loop(x):
            return lax.fori_loop(0, 2, lambda _, x: self.mapped(mesh)(x), x)

        x = np.ones((8, 3), np.float32)
        x[3] = -1
        error, _ = checkify(loop)(x)
        assert error.get() == "got -3.0 (`check` failed)"

    def test_errors_of_two_maps_are_merged(self, mesh):
        def twice(x, y):
            return self.mapped(mesh)(x), self.mapped(mesh)(y)

        fine, bad = np.ones((8, 3), np.float32), -np.ones((8, 3), np.float32)
        assert checkify(twice)(fine, fine)[0].get() is None
        assert "at mapped index 0: got -3.0" in checkify(twice)(fine, bad)[0].get()


def test_error_for_varying_carries_suggests_pcast():
    mesh = Mesh(np.array(devices()[:1]), ("i",))
    spec = P("i")

    def total(x, begin):
        carry, _ = lax.scan(lambda c, row: ({"sum": c["sum"] + row}, None), begin(), x)
        return carry["sum"][None]

    def run(begin):
        body = lambda x: total(x, begin)  # noqa: E731
        return shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec)(
            np.arange(4, dtype=np.float32)
        )

    mended = (
        r"fixed by applying `olympus\.lax\.pcast\(\.\.\., \('i',\), to='varying'\)`, to the initial"
    )
    with pytest.raises(TypeError, match=mended):
        run(lambda: {"sum": np.float32(0)})
    cast = {"sum": np.float32(0)}
    assert run(lambda: {"sum": lax.pcast(cast["sum"], ("i",), to="varying")}) == 6.0


def test_error_of_varying_branches_suggests_pcast():
    mesh = Mesh(np.array(devices()[:1]).reshape(1, 1), ("i", "j"))

    def choose(x, y):
        return lax.cond(True, lambda x, y: x, lambda x, y: y, x, y)

    mapped = shard_map(choose, mesh=mesh, in_specs=(P("i"), P("j")), out_specs=P(("i", "j")))
    advice = r"\* applying `olympus.lax.pcast\(.*'j',.*, to='varying'\)` to the output of true_fun"
    with pytest.raises(TypeError, match=advice):
        mapped(np.ones(3), np.ones(3))
