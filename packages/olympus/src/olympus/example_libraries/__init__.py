# SPDX-License-Identifier: Apache-2.0
"""Small example libraries of layers and optimizers."""
