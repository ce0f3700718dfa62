# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.arrays.layouts import Format as Format
from olympus_xla.arrays.layouts import Layout as Layout
from olympus_xla.arrays.layouts import with_layout_constraint as with_layout_constraint
