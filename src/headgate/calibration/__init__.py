"""From logs to a problem: which law fits each arm, and what a better allocation would gain."""
