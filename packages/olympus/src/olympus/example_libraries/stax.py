# SPDX-License-Identifier: Apache-2.0
"""A small library of layers, and the functions and initializers that they use."""

from olympus_nn.stax import *  # noqa: F403

from .._faces import present as _present
from ..nn import (  # noqa: F401
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from ..nn.initializers import glorot_normal, normal, ones, zeros  # noqa: F401

_present(__name__)
