"""Strategies for configs as a person writes them: valid ones in any spelling, and broken ones."""

from typing import Any

from hypothesis import strategies as st

from iop_edge.schema import table

_TYPES = table.enum("AdapterType")
WITH_URL = [word.word for word in _TYPES.words.values() if "base_url" in word.requires]
ALIASES = list(_TYPES.aliases)
TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=12).filter(
    lambda text: "${" not in text
)


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


POLICY = optional(
    enabled=st.booleans(),
    capacity=st.integers(1, 9),
    priority=st.integers(0, 9),
    max_queue=st.integers(0, 9),
    queue_timeout_ms=st.integers(0, 9),
    health=st.sampled_from(["none", "passive", {"mode": "active", "path": "/x"}, {}]),
    lifecycle_capabilities=st.lists(st.sampled_from(["load", "unload", "pull", "drain"]), unique=True),
    context_size=st.integers(100, 200),
)
BACKEND = optional(
    headers=st.dictionaries(
        st.sampled_from(["X-Tenant", "User-Agent", "Accept"]), st.text("ab $", max_size=4), max_size=2
    ),
    request_timeout_ms=st.integers(0, 9),
)


@st.composite
def node(draw: st.DrawFn, place: int) -> dict[str, Any]:
    """A Node whose providers use its instances by name or bring a backend of their own."""
    kinds = draw(st.lists(st.sampled_from(WITH_URL), min_size=1, max_size=3))
    adapters = [
        {"name": f"a{index}", "type": kind, "base_url": "http://127.0.0.1:1", **draw(BACKEND)}
        for index, kind in enumerate(kinds)
    ]
    providers = []
    for index in range(draw(st.integers(0, 4))):
        fields = {
            "id": f"p{place}-{index}",
            "category": "local_inference",
            "models": ["m", f"k{index}"],
            **draw(POLICY),
        }
        if draw(st.booleans()):
            used = draw(st.sampled_from(adapters))
            aliased = used["type"] == "openai_compat" and draw(st.booleans())
            fields |= {"adapter": used["name"], "type": ALIASES[0] if aliased else used["type"]}
        else:
            kind = draw(st.sampled_from([*WITH_URL, *ALIASES]))
            fields |= {"type": kind, "base_url": "https://b.test/v1", **draw(BACKEND)}
        providers.append(fields)
    extra = draw(optional(alias=TEXTS, runtime=st.fixed_dictionaries({"concurrency": st.integers(0, 9)})))
    return {
        "id": f"n{place}",
        "address": f"127.0.0.1:{place + 1}",
        "adapters": adapters,
        "providers": providers,
        **extra,
    }


@st.composite
def valid_config(draw: st.DrawFn) -> dict[str, Any]:
    """A config that breaks no rule and holds no raw secret."""
    nodes = [draw(node(place)) for place in range(draw(st.integers(1, 3)))]
    identities = [provider["id"] for one in nodes for provider in one["providers"]]
    chosen = st.lists(st.sampled_from(identities), unique=True) if identities else st.just([])
    model = {
        "id": "m",
        "providers": draw(chosen),
        **draw(optional(display_name=TEXTS, context_window_tokens=st.integers(1, 100))),
    }
    return {
        "edge": {"id": "e"},
        "nodes": nodes,
        "models": [model],
        **draw(
            optional(
                long_context_threshold_tokens=st.integers(1, 9), openai=st.just({"provider_auth": {"enabled": True}})
            )
        ),
    }
