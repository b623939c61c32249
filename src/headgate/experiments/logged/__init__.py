"""Experiments from logs, EdNet's and Criteo's: real rows where they are given, else laws that stand in for them."""
