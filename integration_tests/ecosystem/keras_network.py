# SPDX-License-Identifier: Apache-2.0
"""Keras on JAX: a convolutional network that tells bright halves of images, and a recurrent one."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
generator = np.random.default_rng(0)

# Images of which one half is brighter.
labels = generator.integers(0, 2, 512)
images = generator.normal(size=(512, 8, 8, 1)).astype("float32")
images[:, :, :4, 0] += np.where(labels == 0, 1.0, 0.0)[:, None, None]
images[:, :, 4:, 0] += np.where(labels == 1, 1.0, 0.0)[:, None, None]
model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(8, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dropout(0.1),
        layers.Dense(2),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.AdamW(1e-2), loss=loss, metrics=["accuracy"])
first = model.evaluate(images, labels, verbose=0)[0]
model.fit(images, labels, epochs=12, batch_size=64, verbose=0)
last, accuracy = model.evaluate(images, labels, verbose=0)
assert accuracy > 0.9, accuracy

# Attention and recurrence, on words of letters.
words = generator.integers(0, 5, (64, 6))
inputs = keras.Input((6,))
letters = layers.Embedding(5, 8)(inputs)
seen = layers.MultiHeadAttention(2, 4)(letters, letters)
state = layers.Concatenate()(
    [layers.LSTM(8)(layers.LayerNormalization()(seen)), layers.GRU(4)(letters)]
)
reader = keras.Model(inputs, layers.Dense(1)(state))
reader.compile("adam", "mse")
errors = reader.fit(words, words.sum(1) / 10, epochs=8, verbose=0).history["loss"]
assert errors[-1] < errors[0] / 2, errors

print(first, last)
