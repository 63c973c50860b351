"""Who would take a request: asked of a serving Edge with real Nodes, all of them processes."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import command, running, said, stop

TOKEN = "n0de-t0ken"
CONFIG = """\
edge: {id: edge-1}
models: [{id: m, providers: [a-p, b-p]}]
openai: {model_routes: [{model: r, adapter: b-main, target: m}]}
nodes:
"""
NODE = """\
- id: %(id)s
  address: "%(address)s"
  token: ${env:TOKEN}
  adapters: [{name: %(id)s-main, type: ollama, base_url: "http://127.0.0.1:9"}]
  providers:
  - {id: %(id)s-p, type: ollama, category: local_inference, adapter: %(id)s-main, models: [m], priority: %(priority)d}
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


class Asked:
    """The Edge in a directory, as the command asks it."""

    def __init__(self, directory: Path) -> None:
        self._where = ("--admin", f"unix:{directory}/admin.sock")

    def explained(self, model: str, form: str = "json") -> tuple[int, str, str]:
        asked = command("explain-dispatch", model, *self._where, "--format", form)
        return asked.returncode, asked.stdout.decode(), asked.stderr.decode()

    def until(self, model: str, **expected: Any) -> dict[str, Any]:
        """Ask until the answer holds these fields."""
        while True:
            document = json.loads(self.explained(model)[1])
            if expected.items() <= document.items():
                return dict(document)


@pytest.mark.case("A4", "A5")
@pytest.mark.contract("POL-01", "POL-10")
def test_a_running_edge_says_who_takes_a_request_and_nobody_when_the_nodes_are_gone(directory: Path) -> None:
    edge = Asked(directory)
    with ExitStack() as stack:
        nodes, text = [], CONFIG
        for priority, name in ((7, "a"), (3, "b")):
            options = ("--id", name, "--listen", "127.0.0.1:0")
            node = stack.enter_context(running("node", "run", *options, environ={"IOP_NODE_TOKEN": TOKEN}))
            address = said(node, f"node {name} listens on ")
            text += NODE % {"id": name, "address": address, "priority": priority}
            nodes.append(node)
        (directory / "edge.yaml").write_text(text, encoding="utf-8")
        options = ("--state-dir", "state", *edge._where)
        serve = stack.enter_context(running("serve", *options, cwd=directory, environ={"TOKEN": TOKEN}))
        said(serve, "iop-edge: ready")

        both = edge.until("m", chosen="b-p", kind="model")
        assert [(item["provider_id"], item["rank"], item["priority"]) for item in both["candidates"]] in (
            [("a-p", 2, 7), ("b-p", 1, 3)],
            [("a-p", None, 7), ("b-p", 1, 3)],
        )
        assert edge.until("r", chosen="b-p")["kind"] == "route"
        stop(nodes[1])
        assert edge.until("m", chosen="a-p")["candidates"][1]["status"] == "unreachable"
        code, shown, _ = edge.explained("m", "text")
        assert (code, shown.splitlines()[0]) == (0, "model m: a new request goes to a-p")
        assert "node 'b' is not reachable" in shown
        assert edge.until("r", refusal="no_provider")["chosen"] is None
        code, shown, _ = edge.explained("r", "text")
        assert (code, shown.splitlines()[0].partition(": ")[2].partition(":")[0]) == (1, "a new request is refused")
        code, shown, told = edge.explained("mm", "text")
        assert (code, shown) == (1, "")
        assert "did you mean m?; models: m; routes: r" in told
        assert TOKEN not in json.dumps(both)
        assert stop(serve) == 0
    assert edge.explained("m")[0] == 4
