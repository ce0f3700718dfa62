# SPDX-License-Identifier: Apache-2.0
"""Random numbers from stateful generators."""

from olympus_random.stateful import StatefulPRNG, stateful_rng

from .._faces import present as _present

__all__ = ["StatefulPRNG", "stateful_rng"]

_present(__name__)
