# SPDX-License-Identifier: Apache-2.0
"""Bayesian regression in NumPyro: NUTS finds the coefficients that the data were made with."""

import jax.numpy as jnp
import jax.random as jr
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, Predictive

x_key, noise_key, sampling_key, predictive_key = jr.split(jr.PRNGKey(0), 4)
x = jr.normal(x_key, (200, 2))
coefficients = jnp.array([1.5, -0.7])
y = 0.3 + x @ coefficients + 0.2 * jr.normal(noise_key, (200,))


def model(x, y=None):
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 1.0))
    slopes = numpyro.sample("slopes", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("data", len(x)):
        numpyro.sample("y", dist.Normal(intercept + x @ slopes, noise), obs=y)


sampler = MCMC(NUTS(model), num_warmup=300, num_samples=300, progress_bar=False)
sampler.run(sampling_key, x, y)
samples = sampler.get_samples()
assert jnp.allclose(samples["slopes"].mean(0), coefficients, atol=0.1)
assert jnp.allclose(samples["noise"].mean(), 0.2, atol=0.05)
predicted = Predictive(model, samples)(predictive_key, x)["y"]
assert predicted.shape == (300, 200)
print(f"{jnp.var(y):.6f} {jnp.mean((predicted.mean(0) - y) ** 2):.6f}")
