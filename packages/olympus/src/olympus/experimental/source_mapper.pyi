# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.profiling.source_maps import MappingsGenerator as MappingsGenerator
from olympus_xla.profiling.source_maps import Pass as Pass
from olympus_xla.profiling.source_maps import SourceMap as SourceMap
from olympus_xla.profiling.source_maps import SourceMapDump as SourceMapDump
from olympus_xla.profiling.source_maps.generation import all_passes as all_passes
from olympus_xla.profiling.source_maps.generation import compile_with_env as compile_with_env
from olympus_xla.profiling.source_maps.generation import filter_passes as filter_passes
from olympus_xla.profiling.source_maps.generation import generate_sourcemaps as generate_sourcemaps
from olympus_xla.profiling.source_maps.generation import register_pass as register_pass
from olympus_xla.profiling.source_maps.texts import canonicalize_filename as canonicalize_filename
from olympus_xla.profiling.source_maps.texts import create_mlir_sourcemap as create_mlir_sourcemap
