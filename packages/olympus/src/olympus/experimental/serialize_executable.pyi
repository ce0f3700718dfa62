# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_export.executables import deserialize_and_load as deserialize_and_load
from olympus_export.executables import serialize as serialize
