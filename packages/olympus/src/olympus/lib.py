# SPDX-License-Identifier: Apache-2.0
"""The version of jaxlib, which OLYMPUS runs on."""

from importlib.metadata import version as _version

__version__ = _version("jaxlib")
