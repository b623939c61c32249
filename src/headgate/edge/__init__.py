"""Edges: deciding in the caller's own process, with what all have seen. They need httpx."""

from headgate.edge.edge import AsyncEdge as AsyncEdge
from headgate.edge.edge import Edge as Edge
