"""A model of the pool that is slow and obvious: it goes through everything each time, and keeps no index."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    """One request. `entered` are the queues it waits in, `deadlines` when it leaves each that it ever entered."""

    number: int
    model: str
    avoid: frozenset[str]
    entered: set[str] = field(default_factory=set)
    deadlines: dict[str, float | None] = field(default_factory=dict)
    outcome: str = "waits"


@dataclass
class SlowPool:
    """Says what the pool must do. Outcomes are provider ids in brackets, or reasons."""

    now: float = 0.0
    providers: dict[str, dict[str, Any]] = field(default_factory=dict)
    models: dict[str, list[str]] = field(default_factory=dict)
    reachable: set[str] = field(default_factory=set)
    unhealthy: set[str] = field(default_factory=set)
    running: list[str] = field(default_factory=list)
    dispatches: list[str] = field(default_factory=list)
    waiting: list[Request] = field(default_factory=list)
    arrivals: int = 0
    is_closed: bool = False

    def ask(self, model: str, avoid: frozenset[str]) -> Request:
        """Take a slot, wait, or be refused."""
        self.expire()
        self.arrivals += 1
        request = Request(self.arrivals, model, avoid)
        if self.is_closed:
            request.outcome = "closed"
            return request
        usable = [name for name in self.models[model] if self.takes(name, request)]
        free = self.free(usable)
        if free:
            self.grant(request, free)
        elif not usable:
            request.outcome = "no_provider"
        else:
            self.waiting.append(request)
            self.settle("queue_full")
        return request

    def ask_at_once(self, model: str) -> str:
        """Take a slot without waiting; the outcome."""
        request = Request(0, model, frozenset())
        usable = [name for name in self.models.get(model, ()) if self.is_usable(name)]
        free = self.free(usable)
        if self.is_closed:
            return "closed"
        if free:
            self.grant(request, free)
            return request.outcome
        return "busy" if usable else "no_provider"

    def end(self, name: str) -> None:
        """Give back a slot of a provider."""
        self.expire()
        self.running.remove(name)
        self.settle("no_provider")

    def cancel(self, request: Request) -> None:
        """Stop waiting."""
        self.waiting.remove(request)
        self.settle("no_provider")

    def expire(self) -> None:
        """Let requests leave where their time is up."""
        while True:
            due = [
                (deadline, request.number, request, name)
                for request in self.waiting
                for name in request.entered
                if (deadline := request.deadlines[name]) is not None and deadline <= self.now
            ]
            if not due:
                return
            _, _, request, name = min(due, key=lambda each: each[:2])
            request.entered.remove(name)
            self.settle("timeout")

    def reconfigure(self, providers: list[dict[str, Any]], models: dict[str, list[str]]) -> None:
        """Apply a config."""
        self.expire()
        before, self.providers = self.providers, {item["id"]: item for item in providers}
        self.models = models
        for name in {*before, *self.providers}:
            if before.get(name, {}).get("node") != self.providers.get(name, {}).get("node"):
                self.unhealthy.discard(name)
        for request in tuple(self.waiting):
            if request.model not in models:
                self.waiting.remove(request)
                request.outcome = "unknown"
        self.settle("no_provider")

    def close(self) -> None:
        """Refuse all requests."""
        self.is_closed = True
        for request in self.waiting:
            request.outcome = "closed"
        self.waiting.clear()

    def settle(self, reason: str) -> None:
        """Do all that can be done now: leave, join, serve; whoever waits nowhere after that is refused."""
        for request in self.waiting:
            request.entered = {name for name in request.entered if self.is_candidate(name, request)}
        self.join()
        while served := self.next_served():
            request, free = served
            self.waiting.remove(request)
            self.grant(request, free)
            self.join()
        for request in tuple(self.waiting):
            if not request.entered:
                self.waiting.remove(request)
                request.outcome = reason

    def join(self) -> None:
        """Let each request, in the order of arrival, into every queue that has room."""
        for request in self.waiting:
            for name in self.models.get(request.model, ()):
                if name not in request.entered and self.takes(name, request) and self.has_room(name):
                    timeout = self.timeout(name)
                    request.deadlines.setdefault(name, None if timeout is None else self.now + timeout)
                    request.entered.add(name)

    def next_served(self) -> tuple[Request, list[str]] | None:
        """The request that a free provider serves next: those in its queue come before those that found it full."""
        best: tuple[int, Request] | None = None
        for name in self.providers:
            if not self.free([name]):
                continue
            wanting = [each for each in self.waiting if self.takes(name, each)]
            queue = [each for each in wanting if name in each.entered] or wanting
            if queue and (best is None or queue[0].number < best[0]):
                best = queue[0].number, queue[0]
        if best is None:
            return None
        request = best[1]
        return request, self.free([name for name in self.models[request.model] if self.takes(name, request)])

    def is_candidate(self, name: str, request: Request) -> bool:
        """Whether a request may go to a provider, apart from its load."""
        return name in self.models.get(request.model, ()) and name not in request.avoid and self.is_usable(name)

    def takes(self, name: str, request: Request) -> bool:
        """Whether it may go there, and its time there is not up."""
        deadline = request.deadlines.get(name)
        return self.is_candidate(name, request) and (deadline is None or deadline > self.now)

    def is_usable(self, name: str) -> bool:
        item = self.providers.get(name)
        if item is None:
            return False
        healthy = item["health"]["mode"] == "none" or name not in self.unhealthy
        return bool(item["enabled"]) and item["node"] in self.reachable and healthy

    def free(self, names: list[str]) -> list[str]:
        return [
            name
            for name in names
            if self.is_usable(name) and self.running.count(name) < self.providers[name]["capacity"]
        ]

    def has_room(self, name: str) -> bool:
        return sum(name in each.entered for each in self.waiting) < self.limit(name)

    def limit(self, name: str) -> int:
        return int(self.providers[name].get("max_queue", 100))

    def timeout(self, name: str) -> float | None:
        item = self.providers[name]
        if "max_queue" not in item and "queue_timeout_ms" not in item:
            return 30.0
        return item.get("queue_timeout_ms", 0) / 1000 or None

    def grant(self, request: Request, free: list[str]) -> None:
        load = min(self.running.count(name) for name in free)
        free = [name for name in free if self.running.count(name) == load]
        first = min(self.providers[name]["priority"] for name in free)
        free = [name for name in free if self.providers[name]["priority"] == first]
        rested = [name for name in free if name not in self.dispatches]
        chosen = rested[0] if rested else next(name for name in self.by_last_dispatch() if name in free)
        request.outcome = f"[{chosen}]"
        self.running.append(chosen)
        self.dispatches.append(chosen)

    def by_last_dispatch(self) -> list[str]:
        return list(dict.fromkeys(self.dispatches[::-1]))[::-1]
