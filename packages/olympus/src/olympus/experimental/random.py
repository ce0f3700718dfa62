# SPDX-License-Identifier: Apache-2.0
"""Random numbers from generators that count by themselves."""

from olympus_random.stateful import StatefulPRNG, stateful_rng

__all__ = ["StatefulPRNG", "stateful_rng"]
