"""The dashboard: pages that show what the service does, with nothing from elsewhere.

`routes` answers, `pages` renders, `files` hands out scripts and styles, `overview` and `detail` are what the pages ask
for every two seconds, `curves` and `bands` are what is drawn of an arm, `memory` keeps it for the next who asks.
"""

from headgate.service.dashboard.routes import router

__all__ = ["router"]
