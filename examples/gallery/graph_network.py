# SPDX-License-Identifier: Apache-2.0
"""A graph network finds communities, given one member of each.

Two layers of graph convolution (Kipf and Welling, *Semi-supervised classification with graph
convolutional networks*, 2017). The adjacency matrix is sparse. Nodes have no features but random
ones; what the network knows is who is linked to whom.
"""

from __future__ import annotations

import numpy as np
import pictures

import olympus
import olympus.numpy as jnp
from olympus import nn, random
from olympus.example_libraries import optimizers
from olympus.experimental import sparse

GROUPS, MEMBERS, STEPS = 4, 50, 300

truth = np.repeat(np.arange(GROUPS), MEMBERS)
alike = truth[:, None] == truth
drawn = np.random.default_rng(0).random(alike.shape) < np.where(alike, 0.16, 0.012)
linked = np.triu(drawn, 1)
linked = (linked | linked.T | np.eye(len(truth), dtype=bool)).astype(np.float32)
degrees = linked.sum(axis=1)
normalized = linked / np.sqrt(np.outer(degrees, degrees))
adjacency = sparse.BCOO.fromdense(jnp.asarray(normalized))
shown = jnp.arange(GROUPS) * MEMBERS + 7  # the one member of each group whose group is told


def network(params, features):
    """Returns the logits of the groups of all nodes."""
    hidden = nn.relu(adjacency @ (adjacency @ (features @ params[0])))
    return adjacency @ (hidden @ params[1])


def loss(params, features):
    """Returns the cross-entropy of the nodes whose group is told, and a small decay."""
    logs = nn.log_softmax(network(params, features)[shown])
    decay = sum(jnp.sum(weights**2) for weights in params)
    return -jnp.mean(jnp.diag(logs)) + 2e-4 * decay


start, update, params_of = optimizers.adam(1e-2)


@olympus.jit
def train(params, features):
    """Returns trained parameters and the loss of each step."""

    def step(state, number):
        value, gradients = olympus.value_and_grad(loss)(params_of(state), features)
        return update(number, gradients, state), value

    state, losses = olympus.lax.scan(step, start(params), jnp.arange(STEPS))
    return params_of(state), losses


k1, k2, k3 = random.split(random.key(0), 3)
features = random.normal(k1, (len(truth), 256))
params = [0.1 * random.normal(k2, (256, 32)), 0.1 * random.normal(k3, (32, GROUPS))]
params, losses = train(params, features)
found = np.asarray(jnp.argmax(network(params, features), axis=1))
accuracy = np.mean(found == truth)
print(f"loss {losses[0]:.2f}, at the end {losses[-1]:.3f}")
print(f"{accuracy:.0%} of the nodes are in the right group, from {GROUPS} that were told")
assert losses[-1] < 0.3 * losses[0]
assert accuracy > 0.9

# The picture: nodes lie where the first eigenvectors of the graph put them.
_, vectors = jnp.linalg.eigh(jnp.asarray(normalized))
x, y = np.asarray(vectors[:, -2]), np.asarray(vectors[:, -3])
drawing, axes = pictures.figure(size=(5, 4.2))
for i, j in zip(*np.nonzero(np.triu(linked, 1)), strict=True):
    axes.plot(x[[i, j]], y[[i, j]], color="gray", linewidth=0.2, zorder=1)
axes.scatter(x, y, c=found, cmap="Set2", s=25, zorder=2)
axes.scatter(x[shown], y[shown], facecolors="none", edgecolors="black", s=120, zorder=3)
wrong = found != truth
axes.scatter(x[wrong], y[wrong], marker="x", color="black", zorder=4)
axes.set(title=f"Circles were told; crosses are wrong ({accuracy:.0%} right)", xticks=[], yticks=[])
pictures.save(drawing, "graph_network")
