# SPDX-License-Identifier: Apache-2.0
"""Collects a profile of another process, by ``python -m olympus.collect_profile``."""

from olympus_xla.profiling.profile_collection import collect_profile, main, run

from ._faces import present as _present

__all__ = ["collect_profile", "main"]

if __name__ == "__main__":
    run()

_present(__name__)
