# SPDX-License-Identifier: Apache-2.0
"""Kernels for the sparse cores of TPUs: meshes of subcores, gathers, scatters, vectors.

The kernels run on simulated subcores (``interpret=True``). The folder may import
`olympus_pallas.tpu` and the layers below it.
"""

from .indices import Indices as Indices
from .loops import parallel_loop as parallel_loop
from .memory import addupdate as addupdate
from .memory import addupdate_compressed as addupdate_compressed
from .memory import addupdate_scatter as addupdate_scatter
from .memory import load_expanded as load_expanded
from .memory import load_gather as load_gather
from .memory import store_compressed as store_compressed
from .memory import store_scatter as store_scatter
from .meshes import ScalarSubcoreMesh as ScalarSubcoreMesh
from .meshes import VectorSubcoreMesh as VectorSubcoreMesh
from .meshes import get_sparse_core_info as get_sparse_core_info
from .subcores import fetch_and_add as fetch_and_add
from .subcores import subcore_barrier as subcore_barrier
from .vectors import PackFormat as PackFormat
from .vectors import all_reduce_ffs as all_reduce_ffs
from .vectors import all_reduce_population_count as all_reduce_population_count
from .vectors import bitcast as bitcast
from .vectors import cummax as cummax
from .vectors import cumsum as cumsum
from .vectors import pack as pack
from .vectors import scan_count as scan_count
from .vectors import sort_key_val as sort_key_val
from .vectors import unpack as unpack

__all__ = [
    "Indices",
    "PackFormat",
    "ScalarSubcoreMesh",
    "VectorSubcoreMesh",
    "addupdate",
    "addupdate_compressed",
    "addupdate_scatter",
    "all_reduce_ffs",
    "all_reduce_population_count",
    "bitcast",
    "cummax",
    "cumsum",
    "fetch_and_add",
    "get_sparse_core_info",
    "load_expanded",
    "load_gather",
    "pack",
    "parallel_loop",
    "scan_count",
    "sort_key_val",
    "store_compressed",
    "store_scatter",
    "subcore_barrier",
    "unpack",
]
