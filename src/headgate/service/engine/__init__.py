"""The engine: every batch of requests is one transaction that locks, catches up, applies, writes and commits."""
