# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.profiling.profile_collection import collect_profile as collect_profile
from olympus_xla.profiling.profile_collection import main as main
from olympus_xla.profiling.profile_collection import run as run
