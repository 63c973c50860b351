"""The time of a plan between two snapshots, and of a merge, as multiples of what a bare comparison of the two takes."""

from bench import measure
from bench.contenders import Secrets
from bench.fleet import fleet
from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.refresh.diff import merge
from iop_edge.refresh.plan import plan

_YARDSTICK = "comparison of the trees"


def main() -> None:
    """Measure, and print."""
    size = measure.options("plan", __doc__)
    text = fleet(size.nodes)
    running, same = _loaded(text), _loaded(text)
    one = _loaded(text.replace("        capacity: ", "        capacity: 1", 1))
    other = _loaded(fleet(size.nodes, seed=2))
    masks = plan(running, other).live_masks
    found = measure.medians(
        {
            _YARDSTICK: lambda: running.tree == same.tree,
            "plan, nothing changed": lambda: plan(running, same),
            "plan, one capacity changed": lambda: plan(running, one),
            "plan, another fleet": lambda: plan(running, other),
            "merge of its live part": lambda: merge(running.tree, other.tree, masks),
        },
        size.rounds,
    )
    measure.show(f"{size.nodes} nodes", found, _YARDSTICK)


def _loaded(text: str) -> Snapshot:
    return load_sources([Source("edge.yaml", text.encode())], Secrets())


if __name__ == "__main__":
    main()
