# SPDX-License-Identifier: Apache-2.0
"""Compute types: the parts of a machine on which a computation can be placed."""

from __future__ import annotations

from typing import Any

_ATTRIBUTES = {
    "device": {"_xla_compute_type": "dense"},
    "device_host": {"_xla_compute_type": "host"},
    "tpu_sparsecore": {"_xla_compute_type": "sparseoffload"},
}


def attributes_of_compute_type(compute_type: Any) -> dict[str, str]:
    """Returns the compiler's attributes for a compute type.

    Raises:
      TypeError: if ``compute_type`` is not a string.
      ValueError: if ``compute_type`` is unknown.

    Example:
      >>> attributes_of_compute_type("device_host")
      {'_xla_compute_type': 'host'}
    """
    if not isinstance(compute_type, str):
        raise TypeError("`compute_on`'s compute_type argument must be a string.")
    found = _ATTRIBUTES.get(compute_type)
    if found is not None:
        return found
    prefix, _, stream = compute_type.partition(":")
    if prefix == "gpu_stream" and stream:
        return {"_xla_stream_annotation": stream, "inlineable": "false"}
    raise ValueError(
        f"Invalid compute type {compute_type}. Current supported values are `device_host`, "
        "`device`, `tpu_sparsecore`, and `gpu_stream:#`."
    )
