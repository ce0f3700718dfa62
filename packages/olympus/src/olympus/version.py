# SPDX-License-Identifier: Apache-2.0
"""The version of OLYMPUS."""

from .__about__ import __version__ as __version__


def _version_info(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3])


__version_info__ = _version_info(__version__)
