"""Writes the config of a fleet: `python -m bench.fleet 1000 > edge.yaml`. Equal numbers give equal bytes.

The files look like those that people write: comments, both ways to quote, block and flow style, references, named
adapters, provider-first providers, and model groups that list the providers of the whole fleet. About 150 lines a node.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from typing import Final

_MODELS: Final = (
    ("llama-3.1-8b", 131072),
    ("llama-3.1-70b", 131072),
    ("qwen2.5-32b", 32768),
    ("mistral-nemo-12b", 128000),
    ("phi-4", 16384),
    ("gemma-2-27b", 8192),
    ("deepseek-r1-distill-14b", 65536),
    ("bge-m3", 8192),
)
_LOCAL_TYPES: Final = (("ollama", 11434), ("vllm", 8000), ("llama_cpp", 8080))

_HEAD: Final = """\
# The config of a fleet.
edge:
  id: edge-eu-west-1a
  name: "EU fleet, first zone"
listen:
  admin: "unix:/run/iop-edge/admin.sock"
logging: {level: info, format: json}
metrics:
  enabled: true
  listen: 127.0.0.1:9464
openai:
  enabled: true
  listen: "127.0.0.1:8080"
  provider_auth:
    enabled: true          # the rest is filled in by default
long_context_threshold_tokens: 100000
"""


def fleet(nodes: int, providers: int = 10, seed: int = 1) -> str:
    """Return the config of so many nodes with so many providers each."""
    draw = random.Random(seed)
    served: dict[str, list[str]] = {model: [] for model, _ in _MODELS}
    body = "".join(part for number in range(nodes) for part in _node(number, providers, draw, served))
    return f"{_HEAD}\nmodels:\n{''.join(_models(served))}\nnodes:{'' if nodes else ' []'}\n{body}"


def _models(served: dict[str, list[str]]) -> Iterator[str]:
    for model, window in _MODELS:
        yield (
            f"  - id: {model}\n"
            f"    display_name: '{model.upper()}'\n"
            f"    context_window_tokens: {window}\n"
            f"    default_max_tokens: {window // 4}\n"
            f'    usage_attribution: {{group: chat, cost_center: "{window}"}}\n'
        )
        if served[model]:
            yield "    providers:\n"
        yield from (f"      - {{id: {provider}, target: {model}}}\n" for provider in served[model])


def _node(number: int, providers: int, draw: random.Random, served: dict[str, list[str]]) -> Iterator[str]:
    if number % 50 == 0:
        yield f"  # ---- rack {number // 50} ----\n"
    kind, port = _LOCAL_TYPES[number % len(_LOCAL_TYPES)]
    yield f"""\
  - id: node-{number:05d}
    alias: "Rack {number // 50}, slot {number % 50}"
    agent_kind: standard
    address: 127.{number // 65536 % 256}.{number // 256 % 256}.{number % 256}:9443
    token: ${{env:IOP_NODE_TOKEN}}
    runtime:
      concurrency: {draw.randint(0, 64)}
    adapters:
      - name: {kind}-0
        type: {kind}
        base_url: "http://127.0.0.1:{port}"
        request_timeout_ms: {draw.choice([30000, 60000, 600000])}
        headers: {{X-Tenant: "tenant-{draw.randint(1, 9)}"}}
      - name: cloud
        type: openai_compat
        base_url: https://api-{number % 7}.example.net/v1
        headers:
          Authorization: Bearer ${{env:IOP_CLOUD_KEY}}
    providers:
"""
    for place in range(providers):
        yield _provider(f"prov-{number:05d}-{place:02d}", kind, place, draw, served)


def _provider(name: str, kind: str, place: int, draw: random.Random, served: dict[str, list[str]]) -> str:
    first, second = draw.sample(_MODELS, 2)
    for model, _ in (first, second):
        served[model].append(name)
    return f"""\
      - id: {name}
{_connection(name, kind, place)}\
        models:
          - {first[0]}
          - {second[0]}
        capacity: {draw.randint(1, 128)}
        priority: {draw.randint(0, 9)}
        enabled: {"true" if draw.random() < 0.9 else "false"}
        max_queue: {draw.choice([0, 16, 100])}
        queue_timeout_ms: {draw.choice([0, 5000, 30000])}
"""


def _connection(name: str, kind: str, place: int) -> str:
    """Return what a provider runs on: of ten, two are in the cloud and one brings its own connection."""
    if place % 10 == 9:
        connection = (
            f"        type: seulgivibe_openai\n        category: api\n        endpoint: https://{name}.example.net/v1\n"
        )
    elif place % 5 == 3:
        connection = "        type: openai_compat\n        category: api\n        adapter: cloud\n"
    else:
        connection = (
            f"        type: {kind}\n"
            "        category: local_inference\n"
            f"        adapter: {kind}-0\n"
            "        health: {mode: active, path: /health, interval_ms: 5000}\n"
            "        lifecycle_capabilities: [load, unload]\n"
        )
    return connection


def main() -> None:
    """Write a fleet's config to standard output."""
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description=__doc__)
    parser.add_argument("nodes", type=int)
    parser.add_argument("--providers", type=int, default=10, help="providers on each node (10)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.stdout.write(fleet(options.nodes, options.providers, options.seed))


if __name__ == "__main__":
    main()
