# SPDX-License-Identifier: Apache-2.0
"""Small libraries of layers and optimizers, to start from."""
