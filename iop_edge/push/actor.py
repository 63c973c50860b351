"""Keeps one Node at its desired payload."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from iop_edge.clock import Clock
from iop_edge.ids import Generation
from iop_edge.pool.status import NodeConnection
from iop_edge.push.gate import SendGate
from iop_edge.push.link import Answer, Link, SessionError, shared_context
from iop_edge.push.model import (
    Caller,
    Desired,
    HealthListener,
    NodeState,
    Pushed,
    PushListener,
    PushSettings,
    StateListener,
    Target,
)
from iop_edge.refresh.result import Mode, NodeOutcome, NodeReport
from iop_edge.transport.reload import ReloadedContext

_log = logging.getLogger(__name__)

_TAKEN: Final = (NodeOutcome.CHECKED, NodeOutcome.COMMITTED, NodeOutcome.UNCHANGED)
_MAX_DOUBLINGS: Final = 16


@dataclass(frozen=True, slots=True)
class Context:
    """What all actors of a fleet share."""

    caller: Caller
    settings: PushSettings
    clock: Clock
    chance: Callable[[], float]
    dials: SendGate
    sends: SendGate
    on_state: StateListener
    on_health: HealthListener
    on_push: PushListener


class NodeActor:
    """Keeps a session with one Node and converges it to the latest desired payload (PSH-01).

    `run` dials, pushes what differs, and dials again when the session is lost; `check`, `commit` and `put_back` use the
    same session, one exchange at a time. After a lost answer the next handshake tells what the Node runs: only what
    differs is pushed, and nothing is applied twice.
    """

    def __init__(self, target: Target, desired: Desired | None, context: Context) -> None:
        self.state = NodeState()
        self._target = target
        self._desired = desired
        self._context = context
        self._caller = context.caller
        self._tls = ReloadedContext(target.tls, shared_context) if target.tls else None
        self._link: Link | None = None
        self._generation = Generation(0)
        self._failures = 0
        self._began: float | None = None
        self._checked_tag = b""
        self._is_sent = False
        self._refused_tag = b""
        self._refusal = ""
        self._node_instance = ""
        self._exchange_lock = asyncio.Lock()
        self._wake = asyncio.Event()
        self._tried = asyncio.Event()

    async def run(self) -> None:
        """Hold one session after another until cancelled."""
        while True:
            fault = await self._guarded_session()
            self._note_end(fault)
            await self._pause(fault)

    async def tried(self) -> None:
        """Wait until the Node runs what it should, or has shown why not."""
        await self._tried.wait()

    def want(self, desired: Desired) -> None:
        """Converge to this payload from now on."""
        self._desired = desired
        self._publish()
        self._wake.set()

    async def check(self, desired: Desired) -> NodeReport:
        """Ask the Node whether it would take a payload.

        A Node that answers with an error, or with nothing that can be read, has refused. Only silence is unreachable.
        """
        await self._tried.wait()
        async with self._exchange_lock:
            self._checked_tag = b""  # an older check says nothing of the Node as it is now
            self._is_sent = False
            try:
                answer = await self._exchange(Mode.DRY_RUN, desired)
            except SessionError as fault:
                outcome = NodeOutcome.REJECTED if fault.answered else NodeOutcome.UNREACHABLE
                return self._report(outcome, fault.reason)
        if answer.outcome in _TAKEN:
            self._checked_tag = desired.encoded.tag
        return self._report(answer.outcome, answer.reason)

    async def commit(self, desired: Desired) -> NodeReport:
        """Make a payload the desired one and have the Node run it."""
        async with self._exchange_lock:
            self._desired = desired
            self._is_sent = False
            was_checked = self._checked_tag == desired.encoded.tag
            self._checked_tag = b""
            try:
                answer = await self._exchange(Mode.APPLY, desired)
            except SessionError as fault:
                self._wake.set()
                is_lost = self._is_sent or was_checked
                return self._report(NodeOutcome.UNKNOWN if is_lost else NodeOutcome.UNREACHABLE, fault.reason)
        return self._report(answer.outcome, answer.reason)

    async def put_back(self, desired: Desired) -> NodeReport | None:
        """Make the old payload the desired one again and have the Node run it. None: it never got the new one."""
        async with self._exchange_lock:
            self._desired = desired
            runs_new = self._link is not None and self._link.running.payload_hash != desired.encoded.tag
        self._wake.set()
        if not (self._is_sent or runs_new):
            return None
        await self._tried.wait()
        async with self._exchange_lock:
            try:
                answer = await self._exchange(Mode.APPLY, desired)
            except SessionError as fault:
                return self._report(NodeOutcome.ROLLBACK_FAILED, fault.reason)
        outcome = NodeOutcome.ROLLED_BACK if answer.outcome in _TAKEN else NodeOutcome.ROLLBACK_FAILED
        return self._report(outcome, answer.reason)

    async def _guarded_session(self) -> SessionError:
        """Hold one session. An internal fault ends it like any other, since nothing else would notice."""
        try:
            return await self._session()
        except Exception as error:  # noqa: BLE001
            # Only the type: texts of foreign errors quote their arguments, which may hold the token.
            reason = f"an internal fault of the Edge ended the session ({type(error).__name__})"
            return SessionError(reason, permanent=True)

    async def _session(self) -> SessionError:
        """Hold one session for as long as it lasts and return why it ended."""
        try:
            async with self._context.dials.slot(0):
                self._link = link = await Link.open(self._target, self._caller, self._context.settings, self._tls)
        except SessionError as fault:
            return fault
        # Only once: two Edges that were both told to take a Node over would take it from each other forever.
        self._caller = replace(self._caller, take_over=False)
        try:
            self._generation = Generation(max(self._generation, link.running.generation))
            self._begin(link)
            return await self._serve(link)
        finally:
            self._link = None
            await link.close()

    def _begin(self, link: Link) -> None:
        """Begin a session. A payload that a Node has refused is refused for as long as the Node's process lives."""
        self._began = self._context.clock.monotonic()
        is_same = link.node_instance and link.node_instance == self._node_instance
        self._node_instance = link.node_instance
        if is_same and self._desired is not None and self._refused_tag == self._desired.encoded.tag:
            self._publish(NodeConnection.DIVERGED, self._refusal)
            return
        self._refused_tag = b""
        if self._desired is None or link.running.payload_hash == self._desired.encoded.tag:
            self._publish(NodeConnection.CONNECTED)
        # Otherwise it stays out of dispatch until it is pushed to: it may not run what requests expect of it.

    async def _serve(self, link: Link) -> SessionError:
        watcher = asyncio.create_task(self._watch_health(link))
        beating = asyncio.create_task(self._beat(link))
        leaving = asyncio.create_task(link.leaving.wait())
        for task in (watcher, beating, leaving):
            task.add_done_callback(lambda _: self._wake.set())
        try:
            while not (watcher.done() or beating.done() or leaving.done()):
                self._wake.clear()
                await self._converge()
                self._tried.set()
                await self._wake.wait()
            async with self._exchange_lock:
                if leaving.done():
                    return link.fault or SessionError("the Node is stopping")
                return link.fault or (watcher.result() if watcher.done() else beating.result())
        except SessionError as fault:
            return fault
        finally:
            await _cancel(watcher, beating, leaving)

    async def _beat(self, link: Link) -> SessionError:
        """Ask the Node now and then whether it still answers: a frozen one keeps its connection."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._context.settings.heartbeat):
                    await link.leaving.wait()
                    return SessionError("the Node is stopping")
            try:
                await link.require_answer()
            except SessionError as fault:
                return fault

    async def _watch_health(self, link: Link) -> SessionError:
        try:
            async with contextlib.aclosing(link.health()) as reports:
                async for report in reports:
                    self._context.on_health(self._target.node_id, report)
        except SessionError as fault:
            return fault
        return SessionError("the Node ended the session")

    async def _converge(self) -> None:
        async with self._exchange_lock:
            desired = self._desired
            if desired is not None and desired.encoded.tag != self._refused_tag:
                await self._exchange(Mode.APPLY, desired)
            self._publish()

    async def _exchange(self, mode: Mode, desired: Desired) -> Answer:
        """Push a payload unless the Node already runs it. Called with the exchange lock held.

        Raises:
            SessionError: there is no session, or it has ended.
        """
        link = self._link
        if link is None or link.leaving.is_set():
            raise SessionError(self.state.last_error or "there is no session")
        if link.running.payload_hash == desired.encoded.tag:
            answer = Answer(NodeOutcome.UNCHANGED)
        else:
            answer = await self._push(link, mode, desired)
        if mode is Mode.APPLY:
            self._note_answer(desired, answer)
        return answer

    async def _push(self, link: Link, mode: Mode, desired: Desired) -> Answer:
        self._generation = Generation(self._generation + 1)
        self._is_sent = self._is_sent or mode is Mode.APPLY
        clock = self._context.clock
        begin = clock.monotonic()
        outcome = None
        try:
            answer = await link.push(mode, desired, self._generation, self._context.sends)
            outcome = answer.outcome
        except SessionError as fault:
            await link.close(fault)
            raise
        finally:
            self._context.on_push(self._target.node_id, Pushed(mode, outcome, clock.monotonic() - begin))
        return answer

    def _note_answer(self, desired: Desired, answer: Answer) -> None:
        if answer.outcome in _TAKEN:
            self._refused_tag = b""
            self._publish(NodeConnection.CONNECTED)
        else:
            self._refused_tag, self._refusal = desired.encoded.tag, answer.reason
            self._publish(NodeConnection.DIVERGED, answer.reason)

    def _note_end(self, fault: SessionError) -> None:
        lived = self._context.clock.monotonic() - self._began if self._began is not None else 0.0
        self._began = None
        if lived >= self._context.settings.steady_after:
            self._failures = 0
        was_well = not self._failures and self.state.connection in (NodeConnection.CONNECTED, NodeConnection.DIVERGED)
        self._failures += 1
        self._publish(fault.connection, fault.reason)
        if was_well:
            self._tried.clear()  # it may be back in a moment, so whoever checks waits for the next try
        else:
            self._tried.set()

    async def _pause(self, fault: SessionError) -> None:
        settings, chance, clock = self._context.settings, self._context.chance(), self._context.clock
        if fault.permanent:
            self._wake.clear()
            await _first_of(clock.sleep(settings.slow_retry * (0.5 + chance / 2)), self._wake.wait())
            return
        longest = settings.backoff_base * 2 ** min(self._failures, _MAX_DOUBLINGS)
        await clock.sleep(chance * min(settings.backoff_cap, longest))

    def _publish(self, connection: NodeConnection | None = None, error: str = "") -> None:
        """Update the state and report a change; without a connection given, it stays what it was."""
        if connection is None:
            connection, error = self.state.connection, self.state.last_error
        state = replace(self.state, connection=connection, last_error=error, in_sync=False)
        if self._link is not None:
            state = self._with_running(state, self._link)
        if state == self.state:
            return
        if (state.connection, state.last_error) != (self.state.connection, self.state.last_error):
            level = logging.WARNING if state.last_error else logging.INFO
            _log.log(level, "node %s: %s", self._target.node_id, f"{state.connection} {state.last_error}".rstrip())
        self.state = state
        self._context.on_state(self._target.node_id, state)

    def _with_running(self, state: NodeState, link: Link) -> NodeState:
        running, desired = link.running, self._desired
        in_sync = desired is not None and running.payload_hash == desired.encoded.tag
        revision = desired.revision if desired is not None and in_sync else running.revision
        return replace(state, generation=running.generation, revision=revision, in_sync=in_sync)

    def _report(self, outcome: NodeOutcome, reason: str) -> NodeReport:
        return NodeReport(self._target.node_id, outcome, reason, self.state.generation)


async def _first_of(*awaitables: Awaitable[object]) -> None:
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _cancel(*tasks)


async def _cancel(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
