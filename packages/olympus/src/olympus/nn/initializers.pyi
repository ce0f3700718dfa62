# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_nn.initializers import Initializer as Initializer
from olympus_nn.initializers import constant as constant
from olympus_nn.initializers import glorot_normal as _glorot_normal
from olympus_nn.initializers import glorot_normal as glorot_normal
from olympus_nn.initializers import glorot_uniform as _glorot_uniform
from olympus_nn.initializers import glorot_uniform as glorot_uniform
from olympus_nn.initializers import he_normal as _he_normal
from olympus_nn.initializers import he_normal as he_normal
from olympus_nn.initializers import he_uniform as _he_uniform
from olympus_nn.initializers import he_uniform as he_uniform
from olympus_nn.initializers import lecun_normal as lecun_normal
from olympus_nn.initializers import lecun_uniform as lecun_uniform
from olympus_nn.initializers import normal as normal
from olympus_nn.initializers import ones as ones
from olympus_nn.initializers import truncated_normal as truncated_normal
from olympus_nn.initializers import uniform as uniform
from olympus_nn.initializers import variance_scaling as variance_scaling
from olympus_nn.initializers import zeros as zeros
from olympus_nn.orthogonal_initializers import delta_orthogonal as delta_orthogonal
from olympus_nn.orthogonal_initializers import orthogonal as orthogonal
kaiming_normal = _he_normal
kaiming_uniform = _he_uniform
xavier_normal = _glorot_normal
xavier_uniform = _glorot_uniform
