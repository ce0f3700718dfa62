# SPDX-License-Identifier: Apache-2.0
"""Settings of kernels: interpret modes, and the parameters of simulated cores.

The lowest folder. It imports nothing of the package.
"""
