# SPDX-License-Identifier: Apache-2.0
"""Settings of kernels: interpret modes, and the parameters of simulated cores.

This is the lowest folder; it imports nothing of the package.
"""
