# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_nn.activations import elu as elu
from olympus_nn.activations import gelu as gelu
from olympus_nn.activations import leaky_relu as leaky_relu
from olympus_nn.activations import relu as relu
from olympus_nn.activations import selu as selu
from olympus_nn.activations import sigmoid as sigmoid
from olympus_nn.activations import softplus as softplus
from olympus_nn.convolution_layers import AvgPool as AvgPool
from olympus_nn.convolution_layers import Conv as Conv
from olympus_nn.convolution_layers import Conv1DTranspose as Conv1DTranspose
from olympus_nn.convolution_layers import ConvTranspose as ConvTranspose
from olympus_nn.convolution_layers import GeneralConv as GeneralConv
from olympus_nn.convolution_layers import GeneralConvTranspose as GeneralConvTranspose
from olympus_nn.convolution_layers import MaxPool as MaxPool
from olympus_nn.convolution_layers import SumPool as SumPool
from olympus_nn.initializers import glorot_normal as _glorot_normal
from olympus_nn.initializers import glorot_normal as glorot_normal
from olympus_nn.initializers import normal as _normal
from olympus_nn.initializers import normal as normal
from olympus_nn.initializers import ones as ones
from olympus_nn.initializers import zeros as zeros
from olympus_nn.normalization import log_softmax as _log_softmax
from olympus_nn.normalization import log_softmax as log_softmax
from olympus_nn.normalization import softmax as softmax
from olympus_nn.normalization import standardize as standardize
from olympus_nn.stax import BatchNorm as BatchNorm
from olympus_nn.stax import Dense as Dense
from olympus_nn.stax import Dropout as Dropout
from olympus_nn.stax import Elu as Elu
from olympus_nn.stax import Exp as Exp
from olympus_nn.stax import FanInConcat as FanInConcat
from olympus_nn.stax import FanInSum as FanInSum
from olympus_nn.stax import FanOut as FanOut
from olympus_nn.stax import Flatten as Flatten
from olympus_nn.stax import Gelu as Gelu
from olympus_nn.stax import Identity as Identity
from olympus_nn.stax import LeakyRelu as LeakyRelu
from olympus_nn.stax import LogSoftmax as LogSoftmax
from olympus_nn.stax import Relu as Relu
from olympus_nn.stax import Selu as Selu
from olympus_nn.stax import Sigmoid as Sigmoid
from olympus_nn.stax import Softmax as Softmax
from olympus_nn.stax import Softplus as Softplus
from olympus_nn.stax import Tanh as Tanh
from olympus_nn.stax import elementwise as elementwise
from olympus_nn.stax import parallel as parallel
from olympus_nn.stax import serial as serial
from olympus_nn.stax import shape_dependent as shape_dependent
glorot = _glorot_normal
logsoftmax = _log_softmax
randn = _normal
