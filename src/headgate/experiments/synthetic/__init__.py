"""Experiments on problems drawn at random: the paper's exponential setting."""
