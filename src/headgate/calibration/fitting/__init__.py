"""Fits: each arm's law, shape, rate and activation by maximum likelihood, and how good that is."""
