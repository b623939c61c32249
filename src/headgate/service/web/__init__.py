"""The service over HTTP: routes, who may call them, and what errors look like."""
