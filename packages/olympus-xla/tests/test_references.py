# SPDX-License-Identifier: Apache-2.0
"""References of device arrays: compiled functions write them in place."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.lax.callbacks import effects_barrier, io_callback
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.references.primitives import addupdate, empty_ref, freeze, new_ref, swap
from olympus_ir.settings import config, config_states
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_sharding.manual.shard_map import shard_map
from olympus_xla import jit
from olympus_xla.arrays.transfer import device_put

P = PartitionSpec


def bump(ref):
    ref[0] = lax.add(ref[0], 1.0)


class TestEager:
    def test_reading_and_writing(self):
        ref = new_ref(np.arange(4, dtype=np.float32))
        ref[1:3] = lax.mul(ref[2:], 10.0)
        addupdate(ref, np.array([0, 0, 3]), np.ones(3, np.float32))
        assert swap(ref, 0, 5.0) == 2.0
        np.testing.assert_array_equal(freeze(ref), [5, 20, 30, 4])

    def test_values_read_from_references_do_not_change(self):
        start = lax.add(np.zeros(1000, np.float32), 0.0)
        ref = new_ref(start)
        seen = [ref[...]]
        for _ in range(3):
            jit(bump)(ref)
            seen.append(ref[...])
            bump(ref)
            seen.append(freeze(ref))
        assert [float(array[0]) for array in seen] == [0, 1, 2, 3, 4, 5, 6]
        assert not np.asarray(start).any()

    def test_python_scalars_and_types(self):
        ref = new_ref(2)
        assert ref.dtype == np.int32 and ref[...].weak_type
        assert empty_ref(ShapeDtypeStruct((3,), np.float32)).shape == (3,)
        assert ref.committed in (True, False) and ref.sharding.num_devices == 1
        assert ref.block_until_ready() is ref


class TestJit:
    def test_arguments_are_updated_in_place(self):
        ref = new_ref(np.zeros(3, np.float32))
        compiled = jit(bump)
        for _ in range(5):
            compiled(ref)
        assert ref[0] == 5.0

    def test_closed_over_references_are_updated(self):
        ref = new_ref(np.zeros(3, np.float32))
        traced = 0

        @jit
        def count(x):
            nonlocal traced
            traced += 1
            bump(ref)
            return lax.add(ref[0], x)

        assert [float(count(10.0)) for _ in range(3)] == [11, 12, 13]
        assert traced == 1

    def test_references_reuse_the_buffer(self):
        ref = new_ref(np.zeros(1000, np.float32))
        compiled = jit(bump)
        compiled(ref)
        held = ref._array
        compiled(ref)
        assert held.is_deleted() and not ref._array.is_deleted()

    def test_results_besides_references_are_returned(self):
        first, second = new_ref(np.zeros(2, np.float32)), new_ref(np.ones(2, np.float32))

        @jit
        def exchange(refs, x):
            refs["a"][...], refs["b"][...] = refs["b"][...], refs["a"][...]
            return {"sum": lax.add(refs["a"][0], x)}, refs["b"][1]

        result, other = exchange({"a": first, "b": second}, 3.0)
        assert result == {"sum": 4.0} and other == 0.0
        assert first[0] == 1.0 and second[0] == 0.0

    def test_nested_calls_update_the_same_reference(self):
        inner = jit(bump)

        @jit
        def outer(ref, x):
            inner(ref)
            inner(ref)
            local = new_ref(x)
            inner(local)
            return freeze(local)

        ref = new_ref(np.zeros(1, np.float32))
        assert outer(ref, np.ones(1, np.float32)) == 2.0 and ref[0] == 2.0

    def test_references_may_live_inside_a_call(self):
        @jit
        def fun(x):
            ref = new_ref(x)
            lax.fori_loop(0, 10, lambda i, _: addupdate(ref, (), 1.0), None)
            return ref[...]

        assert fun(np.float32(1)) == 11.0
        # What has no references among its arguments is called as any compiled function.
        assert fun._cache_size() == 1

    def test_static_and_donated_arguments_mix_with_references(self):
        ref = new_ref(np.zeros(2, np.float32))
        fun = jit(lambda n, ref, x: (ref.set(x, n), x)[1], static_argnums=0, donate_argnums=2)
        x = lax.add(np.float32(1.0), 2.0)
        assert fun(1, ref, x) == 3.0 and ref[1] == 3.0

    def test_donated_references_keep_read_arrays(self):
        x = lax.add(np.arange(3.0, dtype=np.float32), np.float32(1.0))
        ref = new_ref(x)
        fun = jit(lambda ref: ref[...] * np.float32(2.0), donate_argnums=0)
        for array in (fun(ref) / 2, ref[...], x):
            np.testing.assert_array_equal(array, [1.0, 2.0, 3.0])

    def test_errors_leave_references_unchanged(self):
        ref = new_ref(np.zeros(2, np.float32))

        def wrong(ref):
            ref[0] = 1.0
            ref[1] = np.zeros(3, np.float32)

        with pytest.raises(ValueError, match="Invalid shape"):
            jit(wrong)(ref)
        assert not np.asarray(ref[...]).any()

    def test_debug_nans_of_written_values(self):
        ref = new_ref(np.zeros(2, np.float32))

        def write(ref, x):
            ref[0] = lax.log(x)

        with config.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
            jit(write)(ref, -1.0)
        jit(write)(ref, 1.0)
        assert not np.asarray(ref[...]).any()

    def test_references_work_without_compilation(self):
        ref = new_ref(np.zeros(3, np.float32))

        @jit
        def fun(ref):
            lax.fori_loop(0, 3, lambda i, c: (ref.set(c, i), lax.add(c, 1.0))[1], 5.0)
            lax.cond(True, lambda: ref.set(-1.0, 1), lambda: None)

        with config_states.disable_jit(True):
            fun(ref)
        np.testing.assert_array_equal(ref[...], [5, -1, 7])

    def test_order_of_effects(self):
        ref = new_ref(np.float32(0))
        seen = []

        @jit
        def fun(ref):
            for _ in range(3):
                ref[...] = lax.add(ref[...], 1.0)
                io_callback(lambda x: seen.append(float(x)), None, ref[...], ordered=True)

        fun(ref)
        fun(ref)
        effects_barrier()
        assert seen == [1, 2, 3, 4, 5, 6]

    def test_threads_update_their_own_references(self):
        refs = [new_ref(np.zeros(1, np.float32)) for _ in range(4)]
        compiled = jit(bump)

        def work(ref):
            for _ in range(20):
                compiled(ref)

        threads = [threading.Thread(target=work, args=(ref,)) for ref in refs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [float(ref[0]) for ref in refs] == [20] * 4


class TestStages:
    def test_lowered_text_shows_aliases(self):
        lowered = jit(bump).lower(new_ref(np.zeros(4, np.float32)))
        assert "%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}" in lowered.as_text()

    def test_compiled_objects_update_references(self):
        ref = new_ref(np.zeros(4, np.float32))
        compiled = jit(lambda ref, x: (bump(ref), lax.add(ref[0], x))[1]).lower(ref, 1.0).compile()
        assert compiled(ref, 1.0) == 2.0 and compiled(ref, 1.0) == 3.0 and ref[0] == 2.0
        with pytest.raises(TypeError, match="Argument types differ"):
            compiled(new_ref(np.zeros(5, np.float32)), 1.0)

    def test_compiled_objects_update_closed_over_references(self):
        ref = new_ref(np.zeros(4, np.float32))
        compiled = jit(lambda: bump(ref)).lower().compile()
        compiled()
        compiled()
        assert ref[0] == 2.0

    @pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
    def test_references_are_lowered_for_every_platform(self, platform):
        traced = jit(bump).trace(new_ref(np.zeros(4, np.float32)))
        assert "dynamic_update_slice" in traced.lower(lowering_platforms=(platform,)).as_text()


class TestDevices:
    def test_references_keep_their_sharding(self, mesh):
        sharding = NamedSharding(mesh, P("x", "y"))
        ref = new_ref(device_put(np.zeros((4, 4), np.float32), sharding))

        def fun(ref):
            ref[...] = lax.add(ref[...], 1.0)

        for _ in range(3):
            jit(fun)(ref)
        np.testing.assert_array_equal(ref[...], np.full((4, 4), 3))
        assert ref.sharding.is_equivalent_to(sharding, 2)

    @pytest.mark.parametrize("compiled", [False, True])
    @pytest.mark.parametrize("check_vma", [False, True])
    def test_sharded_references_in_shard_map(self, mesh, compiled, check_vma):
        def body(ref, x):
            ref[...] = lax.add(ref[...], x)
            ref[0] = lax.psum(ref[1], "x")
            local = new_ref(x)
            addupdate(local, (), ref[...])
            return freeze(local)

        def fun(ref, x):
            specs = (P("x"), P("x"))
            return shard_map(
                body, mesh=mesh, in_specs=specs, out_specs=P("x"), check_vma=check_vma
            )(ref, x)

        ref = new_ref(np.arange(6, dtype=np.float32))
        x = np.ones(6, np.float32)
        result = (jit(fun) if compiled else fun)(ref, x)
        expected = [7, 2, 3, 7, 5, 6]
        np.testing.assert_array_equal(ref[...], expected)
        np.testing.assert_array_equal(result, np.array(expected) + 1)

    def test_text_of_sharded_references(self, mesh):
        fun = shard_map(bump, mesh=mesh, in_specs=P("x"), out_specs=P())
        text = str(make_olympuspr(fun)(new_ref(np.zeros(4, np.float32))))
        assert "Ref{f32[2]{V:x}}" in text and ":Ref{f32[4]}" in text

    def test_replicated_references_of_varying_values_raise(self, mesh):
        ref = new_ref(np.zeros(4, np.float32))
        with pytest.raises(ValueError, match="varies over the mesh axes"):
            jit(
                lambda: shard_map(
                    lambda x: ref.set(x[0], 0), mesh=mesh, in_specs=P("x"), out_specs=P()
                )(np.ones(4, np.float32))
            )()
