# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_pallas.tpu_sc import Indices as Indices
from olympus_pallas.tpu_sc import PackFormat as PackFormat
from olympus_pallas.tpu_sc import ScalarSubcoreMesh as ScalarSubcoreMesh
from olympus_pallas.tpu_sc import VectorSubcoreMesh as VectorSubcoreMesh
from olympus_pallas.tpu_sc.loops import parallel_loop as parallel_loop
from olympus_pallas.tpu_sc.memory import addupdate as addupdate
from olympus_pallas.tpu_sc.memory import addupdate_compressed as addupdate_compressed
from olympus_pallas.tpu_sc.memory import addupdate_scatter as addupdate_scatter
from olympus_pallas.tpu_sc.memory import load_expanded as load_expanded
from olympus_pallas.tpu_sc.memory import load_gather as load_gather
from olympus_pallas.tpu_sc.memory import store_compressed as store_compressed
from olympus_pallas.tpu_sc.memory import store_scatter as store_scatter
from olympus_pallas.tpu_sc.meshes import get_sparse_core_info as get_sparse_core_info
from olympus_pallas.tpu_sc.subcores import fetch_and_add as fetch_and_add
from olympus_pallas.tpu_sc.subcores import subcore_barrier as subcore_barrier
from olympus_pallas.tpu_sc.vectors import all_reduce_ffs as all_reduce_ffs
from olympus_pallas.tpu_sc.vectors import all_reduce_population_count as all_reduce_population_count
from olympus_pallas.tpu_sc.vectors import bitcast as bitcast
from olympus_pallas.tpu_sc.vectors import cummax as cummax
from olympus_pallas.tpu_sc.vectors import cumsum as cumsum
from olympus_pallas.tpu_sc.vectors import pack as pack
from olympus_pallas.tpu_sc.vectors import scan_count as scan_count
from olympus_pallas.tpu_sc.vectors import sort_key_val as sort_key_val
from olympus_pallas.tpu_sc.vectors import unpack as unpack
