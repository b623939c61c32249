"""The decision service: allocate over HTTP, learn from feedback that comes late, twice or never, and lose nothing.

`store` holds the tables, `engine` turns requests into durable answers, `web` speaks HTTP, `dashboard` shows it.
"""
