"""The dashboard: pages that show what the service does."""

from fastapi import APIRouter

router = APIRouter(include_in_schema=False)
