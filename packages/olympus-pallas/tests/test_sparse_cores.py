# SPDX-License-Identifier: Apache-2.0
"""Kernels of sparse cores on simulated subcores."""

from __future__ import annotations

import collections

import ml_dtypes
import numpy as np
import pytest

import olympus_numpy as jnp
import olympus_pallas as pl
from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.trees import pytrees
from olympus_pallas import tpu, tpu_sc

RNG = np.random.default_rng(0)
CHECKED = tpu.InterpretParams(detect_races=True)
MESH = tpu_sc.VectorSubcoreMesh(
    core_axis_name="c", subcore_axis_name="s", num_cores=2, num_subcores=2
)
ONE = tpu_sc.VectorSubcoreMesh(
    core_axis_name="c", subcore_axis_name="s", num_cores=1, num_subcores=1
)


def run(kernel, out, *args, mesh=ONE, **options):
    results = pl.kernel(kernel, out, mesh=mesh, interpret=CHECKED, **options)(*args)
    return [np.asarray(each) for each in results] if isinstance(out, list) else np.asarray(results)


def int32(*shape):
    return ShapeDtypeStruct(shape, np.int32)


def test_gathers_and_scatters():
    table = RNG.integers(0, 100, (4, 8), np.int32)
    rows, columns = RNG.integers(0, 4, 8, np.int32), RNG.permutation(8).astype(np.int32)
    mask = np.arange(8) % 3 != 0

    def kernel(table_ref, rows_ref, columns_ref, mask_ref, read_ref, written_ref, added_ref):
        rows, columns = rows_ref[...], columns_ref[...]
        mask = mask_ref[...] > 0
        got = tpu_sc.load_gather(table_ref, [rows, columns], mask=mask)
        read_ref[...] = jnp.where(mask, got, -1)
        written_ref[...] = jnp.zeros((8,), np.int32)
        tpu_sc.store_scatter(written_ref, [columns], rows + 1, mask=mask)
        added_ref[...] = jnp.zeros((4,), np.int32)
        tpu_sc.addupdate_scatter(added_ref, [rows], columns, mask=mask)

    out = [int32(8), int32(8), int32(4)]
    read, written, added = run(kernel, out, table, rows, columns, mask.astype(np.int32))
    np.testing.assert_array_equal(read, np.where(mask, table[rows, columns], -1))
    wanted = np.zeros(8, np.int32)
    wanted[columns[mask]] = rows[mask] + 1
    np.testing.assert_array_equal(written, wanted)
    total = np.zeros(4, np.int32)
    np.add.at(total, rows[mask], columns[mask])
    np.testing.assert_array_equal(added, total)


def gather_rows(table_ref, rows_ref, o_ref, rows, buffer):
    tpu.sync_copy(rows_ref, rows)
    tpu.sync_copy(o_ref, buffer)
    tpu.sync_copy(table_ref.at[tpu_sc.Indices(rows, ignored_value=-1)], buffer)
    tpu.sync_copy(buffer, o_ref)


def scatter_rows(table_ref, rows_ref, o_ref, rows, buffer):
    tpu.sync_copy(rows_ref, rows)
    tpu.sync_copy(table_ref.at[pl.ds(0, 4)], buffer)
    tpu.sync_copy(buffer, o_ref.at[tpu_sc.Indices(rows[...], ignored_value=-1)])


def test_copies_of_chosen_rows():
    table = RNG.integers(0, 100, (6, 8), np.int32)
    rows = np.array([5, -1, 0, -1], np.int32)
    scratch = [tpu.VMEM((4,), np.int32), tpu.VMEM((4, 8), np.int32)]
    got = run(gather_rows, int32(4, 8), table, rows, scratch_types=scratch)
    np.testing.assert_array_equal(got[::2], table[[5, 0]])
    assert not np.isin(got[1::2], table).all()  # never written
    got = run(scatter_rows, int32(6, 8), table, rows, scratch_types=scratch)
    np.testing.assert_array_equal(got[[5, 0]], table[[0, 2]])
    assert not np.isin(got[1:5], table).all()


def test_indices_of_rows():
    indices = tpu_sc.Indices(np.arange(3), ignored_value=-1)
    leaves, tree = pytrees.tree_flatten(indices)
    assert len(leaves) == 1
    assert pytrees.tree_unflatten(tree, leaves).ignored_value == -1
    assert indices.pretty_print() == "[0 1 2] except -1"

    def kernel(values):
        return lambda x_ref, o_ref: tpu.sync_copy(x_ref.at[tpu_sc.Indices(values)], o_ref)

    with pytest.raises(TypeError, match="must be integers, got float32"):
        run(kernel(jnp.ones(2)), int32(2), np.arange(3))
    with pytest.raises(ValueError, match="have one dimension, got int32"):
        run(kernel(jnp.ones((1, 2), np.int32)), int32(2), np.arange(3))


def test_compression_and_expansion():
    x = np.arange(10, 18, dtype=np.int32)
    mask = np.array([1, 0, 1, 1, 0, 0, 1, 0], np.int32)

    def kernel(x_ref, mask_ref, stored_ref, loaded_ref, added_ref):
        mask = mask_ref[...] > 0
        stored_ref[...] = jnp.zeros((8,), np.int32)
        tpu_sc.store_compressed(stored_ref, x_ref[...], mask=mask)
        loaded_ref[...] = jnp.where(mask, tpu_sc.load_expanded(x_ref, mask=mask), 0)
        added_ref[...] = x_ref[...]
        tpu_sc.addupdate_compressed(added_ref, x_ref[...], mask=mask)
        tpu_sc.addupdate(added_ref, x_ref[...])

    stored, loaded, added = run(kernel, [int32(8)] * 3, x, mask)
    chosen = x[mask > 0]
    padded = np.concatenate([chosen, np.zeros(4, np.int32)])
    np.testing.assert_array_equal(stored, padded)
    wanted = np.zeros(8, np.int32)
    wanted[mask > 0] = x[:4]
    np.testing.assert_array_equal(loaded, wanted)
    np.testing.assert_array_equal(added, 2 * x + padded)


def test_scans_skip_masked_elements():
    x = RNG.integers(-9, 9, 16, np.int32)
    mask = RNG.integers(0, 2, 16).astype(bool)
    np.testing.assert_array_equal(tpu_sc.cumsum(x), np.cumsum(x))
    np.testing.assert_array_equal(tpu_sc.cumsum(x, mask=mask), np.cumsum(x * mask))
    np.testing.assert_array_equal(tpu_sc.cummax(x), np.maximum.accumulate(x))
    first = int(np.argmax(mask))
    kept = np.maximum.accumulate(np.where(mask, x, -100))
    wanted = np.where(np.arange(16) < first, x, kept)
    np.testing.assert_array_equal(tpu_sc.cummax(x, mask=mask), wanted)
    for valid in (None, mask):
        counter: collections.Counter = collections.Counter()
        counts, last = [], []
        used = np.ones(16, bool) if valid is None else valid
        for value, counted in zip(x.tolist(), used, strict=True):
            counter[value] += int(counted)
            counts.append(counter[value])
        for place, value in enumerate(x.tolist()):
            last.append(bool(used[place]) and value not in x[place + 1 :][used[place + 1 :]])
        got, got_last = tpu_sc.scan_count(x, valid)
        np.testing.assert_array_equal(got, counts)
        np.testing.assert_array_equal(got_last, last)


def test_reductions_and_sorting():
    mask = np.array([False, False, True, False, True, False, False, False])
    np.testing.assert_array_equal(tpu_sc.all_reduce_ffs(mask), [2] * 8)
    np.testing.assert_array_equal(tpu_sc.all_reduce_ffs(~mask & mask, reduce=4), [8] * 2)
    np.testing.assert_array_equal(tpu_sc.all_reduce_population_count(mask, reduce=2), [2] * 4)
    keys, values = RNG.permutation(8).astype(np.int32), np.arange(8, dtype=np.int32)
    for descending in (False, True):
        order = np.argsort(-keys if descending else keys)
        got = tpu_sc.sort_key_val(keys, values, descending=descending)
        np.testing.assert_array_equal(got, [keys[order], values[order]])
        sorted_keys, sorted_values, sorted_mask = tpu_sc.sort_key_val(
            keys, values, mask=mask, descending=descending
        )
        np.testing.assert_array_equal(sorted_mask, [True, True, *[False] * 6])
        chosen = order[mask[order]]
        np.testing.assert_array_equal(sorted_keys[:2], keys[chosen])
        np.testing.assert_array_equal(sorted_values[:2], values[chosen])
    with pytest.raises(ValueError, match="of a size that 3 divides"):
        tpu_sc.all_reduce_ffs(mask, reduce=3)


@pytest.mark.parametrize("form", list(tpu_sc.PackFormat))
def test_packed_vectors_interleave_or_follow(form):
    a, b = RNG.normal(size=(2, 8)).astype(ml_dtypes.bfloat16).astype(np.float32)
    packed = tpu_sc.pack(a, b, format=form)
    assert str(packed.dtype) == "bfloat16"
    pairs = np.stack([a, b], 1)
    wanted = pairs.reshape(-1) if form is tpu_sc.PackFormat.INTERLEAVED else pairs
    np.testing.assert_array_equal(np.asarray(packed).astype(np.float32), wanted)
    np.testing.assert_array_equal(tpu_sc.unpack(packed, format=form), [a, b])
    with pytest.raises(ValueError, match="must have 16 bits"):
        tpu_sc.pack(a, b, format=form, preferred_element_type=np.int8)
    with pytest.raises(ValueError, match="`ab` must"):
        tpu_sc.unpack(jnp.zeros((3, 3), np.int16), format=form)


def test_bitcasts_join_and_split_rows():
    x = RNG.integers(0, 2**16, (4, 8), np.uint16)
    np.testing.assert_array_equal(tpu_sc.bitcast(x, np.uint32), x.view(np.uint32))
    np.testing.assert_array_equal(tpu_sc.bitcast(x.view(np.uint32), np.uint16), x)
    np.testing.assert_array_equal(tpu_sc.bitcast(x, np.int16), x.view(np.int16))
    with pytest.raises(ValueError, match="is not a multiple of 2"):
        tpu_sc.bitcast(x[:, :3], np.uint32)


# ---- subcores ----


def test_each_subcore_runs_its_block():
    x = np.arange(64, dtype=np.int32).reshape(4, 16)

    def kernel(x_ref, o_ref, buffer):
        number = lax.axis_index("c") * 2 + lax.axis_index("s")
        tpu.sync_copy(x_ref.at[number], buffer)

        @tpu_sc.parallel_loop(0, 16, 4, unroll=2)
        def _(start):
            buffer[pl.ds(start, 4)] = buffer[pl.ds(start, 4)] + number

        total = tpu_sc.parallel_loop(0, 16, carry=np.int32(0))(lambda i, sum: sum + buffer[i])
        buffer[0] = total
        tpu.sync_copy(buffer, o_ref.at[number])

    scratch = [tpu.VMEM((16,), np.int32)]
    got = run(kernel, int32(4, 16), x, mesh=MESH, scratch_types=scratch)
    wanted = x + np.arange(4)[:, None]
    wanted[:, 0] = wanted.sum(1)
    np.testing.assert_array_equal(got, wanted)


def test_subcore_barrier_and_shared_memory():
    def kernel(o_ref, shared, buffer):
        core, subcore = lax.axis_index("c"), lax.axis_index("s")
        buffer[0] = core * 10 + subcore
        tpu.sync_copy(buffer, shared.at[pl.ds(subcore, 1)])
        tpu_sc.subcore_barrier()
        tpu.sync_copy(shared.at[pl.ds(1 - subcore, 1)], buffer)
        tpu.sync_copy(buffer, o_ref.at[core, pl.ds(subcore, 1)])

    scratch = [tpu.VMEM_SHARED((2,), np.int32), tpu.VMEM((1,), np.int32)]
    got = run(kernel, int32(2, 2), mesh=MESH, scratch_types=scratch)
    np.testing.assert_array_equal(got, [[1, 0], [11, 10]])


def test_fetch_and_add_on_other_subcores():
    def kernel(o_ref, count):
        core, subcore = lax.axis_index("c"), lax.axis_index("s")
        count[0] = 0
        tpu_sc.subcore_barrier()
        before = tpu_sc.fetch_and_add(count, subcore + 1, subcore_id=0)
        tpu_sc.subcore_barrier()
        tpu.sync_copy(count, o_ref.at[core, subcore, pl.ds(0, 1)])
        count[0] = before[0]
        tpu.sync_copy(count, o_ref.at[core, subcore, pl.ds(1, 1)])

    scratch = [tpu.SMEM((1,), np.int32)]
    got = run(kernel, int32(2, 2, 2), mesh=MESH, scratch_types=scratch)
    np.testing.assert_array_equal(got[:, 0, 0], [3, 3])
    np.testing.assert_array_equal(got[:, 1, 0], [0, 0])
    for core in got:
        assert sorted(core[:, 1].tolist()) in ([0, 1], [0, 2])


def test_scalar_and_vector_subcores_together():
    scalars = tpu_sc.ScalarSubcoreMesh(axis_name="c", num_cores=2)

    def scalar(x_ref, o_ref, p_ref):
        core = lax.axis_index("c")
        tpu.sync_copy(x_ref.at[core], o_ref.at[core])

    def vector(x_ref, o_ref, p_ref):
        place = (lax.axis_index("c"), lax.axis_index("s"))
        number = place[0] * 2 + place[1]
        tpu.sync_copy(x_ref.at[number], p_ref.at[3 - number])

    x = np.arange(32, dtype=np.int32).reshape(4, 8)
    call = pl.kernel(
        [scalar, vector], [int32(2, 8), int32(4, 8)], mesh=[scalars, MESH], interpret=CHECKED
    )
    first, second = call(x)
    np.testing.assert_array_equal(first, x[:2])
    np.testing.assert_array_equal(second, x[::-1])
    with pytest.raises(ValueError, match="at the same time"):
        pl.kernel([vector, vector], mesh=[MESH, MESH])


def test_meshes_have_axes_of_cores_and_subcores():
    assert dict(MESH.shape) == {"c": 2, "s": 2}
    assert MESH.size == 4
    assert str(MESH.core_type) == "sc_vector_subcore"
    with pytest.raises(ValueError, match="Unsupported TPU device kind: cpu"):
        tpu_sc.ScalarSubcoreMesh(axis_name="c")
    with pytest.raises(ValueError, match="Unsupported TPU device kind: cpu"):
        tpu_sc.get_sparse_core_info()
