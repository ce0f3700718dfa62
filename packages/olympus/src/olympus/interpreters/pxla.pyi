# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.compiling.compile_options import create_compile_options as create_compile_options
