"""The health of a Node's resources, and who watches it (PSH-05)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Final

from iop_edge.ids import Generation, ProviderId
from iop_edge.node.standing import HEALTHY, UNKNOWN, Standing
from iop_edge.node.subject import Subject
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import ResourceHealth, ResourceHealthState, WatchHealthResponse

MOST_IN_A_REPORT: Final = 1000
"""The most resources that one message has, so that messages stay small however many a Node runs."""

_WORDS: Final = {state: str(state.name).lower() for state in ResourceHealthState}

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Page:
    """What the book has of one resource."""

    subject: Subject
    standing: Standing
    detail: str = ""
    unhealthy: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, standing: Standing, detail: str) -> None:
        self.standing, self.detail = standing, detail
        if standing.state is ResourceHealthState.UNHEALTHY:
            self.unhealthy.set()
        else:
            self.unhealthy.clear()

    def as_message(self) -> ResourceHealth:
        provider_id = self.subject.provider_id
        return ResourceHealth(provider_id=provider_id, state=self.standing.state, detail=self.detail)


class HealthBook:
    """What is known of each resource: one without a check counts as healthy, of others nothing is known at first."""

    def __init__(self) -> None:
        self._generation = Generation(0)
        self._pages: dict[ProviderId, _Page] = {}
        self._known: dict[ProviderId, ResourceHealth] = {}
        self._changed = asyncio.Event()

    def follow(self, generation: Generation, subjects: Iterable[Subject]) -> None:
        """Keep the book of these from now on. What is known of one that stays as it was is kept."""
        self._generation = generation
        self._pages = {subject.provider_id: self._carried_over(subject) for subject in subjects}
        self._known = {provider_id: page.as_message() for provider_id, page in self._pages.items()}
        self._tell()

    def observe(self, provider_id: ProviderId, *, good: bool, detail: str = "") -> None:
        """Note how a probe, or a request, of a resource has ended. One that is gone, or is not checked, is passed over.

        Its state changes once so many results in a row speak for it as its config asks for.

        Args:
            provider_id: the resource.
            good: whether its backend did what it should. A request that was at fault itself says nothing of it.
            detail: what was seen, for a person. It goes to the Edge: it holds no secret.
        """
        page = self._pages.get(provider_id)
        if page is not None and page.subject.mode is not HealthMode.NONE:
            self._note(page, page.standing.after(page.subject.thresholds, good=good), detail)

    async def unhealthy(self, provider_id: ProviderId) -> None:
        """Wait until a resource is unhealthy.

        Raises:
            KeyError: there is no such resource.
        """
        await self._pages[provider_id].unhealthy.wait()

    def put_on_trial(self, provider_id: ProviderId) -> None:
        """Let requests come again to a resource that is unhealthy: the next result decides."""
        page = self._pages.get(provider_id)
        if page is not None and page.standing.state is ResourceHealthState.UNHEALTHY:
            self._note(page, page.standing.on_trial(page.subject.thresholds), page.detail)

    async def watch(self) -> AsyncIterator[WatchHealthResponse]:
        """Yield the health of all resources, for each generation anew, then of each that changes, without end."""
        sent: dict[ProviderId, ResourceHealth] = {}
        told: Generation | None = None
        while True:
            changed = self._changed
            begins = told != self._generation
            if begins:
                told, sent = self._generation, {}
            news = [health for provider_id, health in self._known.items() if sent.get(provider_id) != health]
            if not (begins or news):
                await changed.wait()
                continue
            sent = dict(self._known)
            for begin in range(0, len(news) or 1, MOST_IN_A_REPORT):
                yield WatchHealthResponse(generation=told or 0, resources=news[begin : begin + MOST_IN_A_REPORT])

    def _carried_over(self, subject: Subject) -> _Page:
        page = self._pages.get(subject.provider_id)
        if page is not None and page.subject == subject:
            return page
        return _Page(subject, HEALTHY if subject.mode is HealthMode.NONE else UNKNOWN)

    def _note(self, page: _Page, standing: Standing, detail: str) -> None:
        page.note(standing, detail)
        provider_id = page.subject.provider_id
        health = page.as_message()
        before = self._known[provider_id]
        if before.state is not health.state:
            level = logging.WARNING if health.state is ResourceHealthState.UNHEALTHY else logging.INFO
            _log.log(level, "provider %s: %s: %s", provider_id, _WORDS[health.state], detail)
        if before != health:
            self._known[provider_id] = health
            self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
