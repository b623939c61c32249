"""Schema versions, applied in order when the service starts."""
