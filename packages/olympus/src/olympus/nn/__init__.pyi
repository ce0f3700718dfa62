# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from . import initializers as initializers
from olympus_nn.activations import celu as celu
from olympus_nn.activations import elu as elu
from olympus_nn.activations import gelu as gelu
from olympus_nn.activations import glu as glu
from olympus_nn.activations import hard_sigmoid as hard_sigmoid
from olympus_nn.activations import hard_silu as _hard_silu
from olympus_nn.activations import hard_silu as hard_silu
from olympus_nn.activations import hard_tanh as hard_tanh
from olympus_nn.activations import identity as identity
from olympus_nn.activations import leaky_relu as leaky_relu
from olympus_nn.activations import log1mexp as log1mexp
from olympus_nn.activations import log_sigmoid as log_sigmoid
from olympus_nn.activations import mish as mish
from olympus_nn.activations import relu as relu
from olympus_nn.activations import relu6 as relu6
from olympus_nn.activations import selu as selu
from olympus_nn.activations import sigmoid as sigmoid
from olympus_nn.activations import silu as _silu
from olympus_nn.activations import silu as silu
from olympus_nn.activations import soft_sign as soft_sign
from olympus_nn.activations import softplus as softplus
from olympus_nn.activations import sparse_plus as sparse_plus
from olympus_nn.activations import sparse_sigmoid as sparse_sigmoid
from olympus_nn.activations import squareplus as squareplus
from olympus_nn.attention import dot_product_attention as dot_product_attention
from olympus_nn.normalization import log_softmax as log_softmax
from olympus_nn.normalization import logmeanexp as logmeanexp
from olympus_nn.normalization import one_hot as one_hot
from olympus_nn.normalization import softmax as softmax
from olympus_nn.normalization import standardize as standardize
from olympus_nn.scaled_products import get_scaled_dot_general_config as get_scaled_dot_general_config
from olympus_nn.scaled_products import scaled_dot_general as scaled_dot_general
from olympus_nn.scaled_products import scaled_matmul as scaled_matmul
from olympus_numpy.elementwise.trigonometry import tanh as tanh
from olympus_numpy.numerics.log_sums import logsumexp as logsumexp
hard_swish = _hard_silu
swish = _silu
