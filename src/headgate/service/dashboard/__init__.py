"""The dashboard: pages that show what the service does, with nothing from elsewhere.

`routes` answers, `pages` renders and hands out scripts and styles, `overview` and `detail` are what the pages ask for
every two seconds, `curves` is what is drawn of an arm.
"""

from headgate.service.dashboard.routes import router

__all__ = ["router"]
