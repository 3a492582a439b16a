"""Questions whose answers come later: how they stand, and ending them."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from freegap.serve.console.rendering import Pages, part_of
from freegap.serve.console.replies import HEADERS
from freegap.serve.console.views import job_view
from freegap.serve.console.visits import Visit


class JobPages(Pages):
    """The list of jobs, and what can be done with them."""

    def jobs(self, visit: Visit) -> Response:
        """The jobs of the last days, the latest first."""
        found = self._desk.jobs(visit.who)[::-1]
        part = part_of(visit, [job_view(job, visit.who) for job in found])
        return self._page(visit, "jobs.html", **part)

    def cancel_job(self, visit: Visit) -> Response:
        """End a job."""
        self._desk.cancel_job(visit.who, visit.fields.get("job", ""))
        return RedirectResponse(f"{visit.home}/jobs", 303, HEADERS)
