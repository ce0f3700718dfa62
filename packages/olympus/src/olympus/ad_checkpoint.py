# SPDX-License-Identifier: Apache-2.0
"""Rematerialization: computing again in the backward pass what is not kept."""

from olympus_autodiff import checkpoint, checkpoint_name, checkpoint_policies
from olympus_autodiff import checkpoint as remat

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "remat"]
