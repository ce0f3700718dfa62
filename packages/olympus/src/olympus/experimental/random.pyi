# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_random.stateful import StatefulPRNG as StatefulPRNG
from olympus_random.stateful import stateful_rng as stateful_rng
