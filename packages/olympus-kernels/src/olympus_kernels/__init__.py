# SPDX-License-Identifier: Apache-2.0
"""Ready-made kernels, grouped by the devices that they are written for.

`gpu` has attention, softmax, layer_norm and rms_norm; `tpu` has the matrix product, flash attention
and splash attention. The kernels are written in the language of olympus-pallas. This module imports
no kernel. Import the module of the kernel that you call.
"""

from .__about__ import __version__ as __version__
