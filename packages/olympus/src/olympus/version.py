# SPDX-License-Identifier: Apache-2.0
"""The version of OLYMPUS."""

from .__about__ import __version__ as __version__


def version_info(version: str) -> tuple[int, ...]:
    """Returns the numeric components of a version.

    Example:
        >>> version_info("0.10.2")
        (0, 10, 2)
    """
    return tuple(int(part) for part in version.split(".")[:3])


__version_info__ = version_info(__version__)
