"""What the README shows is what happens."""

import asyncio
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from iop_edge.ids import NodeId
from iop_edge.net import Address
from iop_edge.node.node import run_node
from iop_edge.schema import table
from tests.support import EXAMPLES, ROOT, run

README = (ROOT / "README.md").read_text(encoding="utf-8")


def example() -> str:
    blocks = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


async def run_beside_a_node(directory: Path) -> str:
    """Run the library example with its first Node up, and return what it prints."""
    listening: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
    node = asyncio.create_task(
        run_node(NodeId("gpu-a"), "127.0.0.1:0", ["s3cr3t-node-token-a"], ready=listening.set_result)
    )
    begun: list[asyncio.Future[Any]] = [node, listening]
    await asyncio.wait(begun, return_when=asyncio.FIRST_COMPLETED)
    try:
        config = directory / "examples" / "edge.yaml"
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace("127.0.0.1:7501", str(listening.result())), encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            example(),
            cwd=directory,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        printed, complaints = await process.communicate()
    finally:
        node.cancel()
        await asyncio.wait([node])
    assert process.returncode == 0, complaints.decode()
    return printed.decode()


@pytest.mark.contract("REF-03")
@pytest.mark.contract("CFG-08")
def test_the_library_example_runs_as_it_is_printed(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    printed = run(run_beside_a_node(tmp_path))
    assert printed.splitlines() == [
        "applied",
        "long_context_threshold_tokens 100000 -> 64000 live",
        "models[qwen3-coder].default_max_tokens 8192 -> 4096 live",
        "nodes[gpu-a].providers[gpu-a-qwen].capacity 4 -> 6 live",
        "nodes[gpu-a].runtime.concurrency 8 -> 12 live",
        "nodes[gpu-b].providers[gpu-b-qwen].enabled True -> False live",
        "applied revision 2",
        "send the request to gpu-a-qwen as qwen3-coder:30b",
    ]


def test_the_library_example_is_short() -> None:
    lines = [line for line in example().splitlines() if line.strip()]
    assert len(lines) <= 20


@pytest.mark.contract("REF-03")
@pytest.mark.contract("REF-04")
def test_the_table_of_refresh_classes_names_every_live_field() -> None:
    rows = dict(re.findall(r"^\| (live|restart) \| (.*) \|$", README, re.MULTILINE))
    live, restart = (re.findall(r"`([^`]+)`", rows[name]) for name in ("live", "restart"))
    named = {*live, *(f"nodes[].providers[].{name}" for name in live if "[" not in name)}
    for leaf in table.leaves():
        is_named = leaf.pattern in named or leaf.pattern.startswith("models[].")
        assert is_named is (leaf.field.refresh is table.RefreshClass.LIVE), leaf.pattern
    sections = [
        name for name in table.root().fields if name not in ("models", "nodes", "long_context_threshold_tokens")
    ]
    assert sections == restart
