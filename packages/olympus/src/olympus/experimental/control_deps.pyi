# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.foreign.control_deps import control_dep as control_dep
from olympus_xla.foreign.control_deps import schedule as schedule
