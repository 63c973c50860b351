"""Rules of model groups (VAL-07)."""

from itertools import pairwise
from typing import Final

from iop_edge.config.problems import Problem, Problems, known, told
from iop_edge.config.rules.inventory import Inventory, placed
from iop_edge.schema.formats import has_format
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.values import ReadTree

_MOST_SLIPS: Final = 20
_MOST_COMPARED: Final = 2000
_TOKEN_ORDER: Final = ("min_max_tokens", "default_max_tokens", "context_window_tokens")


def check(config: ReadTree, inventory: Inventory, problems: Problems) -> None:
    """Check the model groups of a config."""
    for place, model in placed(config, "models"):
        _check_token_order(model, place, problems)
        for index, entry in placed(model, "providers"):
            identity = entry.get("id")
            provider = inventory.providers.get(identity) if identity.__class__ is str else None
            if provider is not None:
                _check_target(provider.tree, entry, (place, index), problems)
                _check_window(model, provider.tree, entry, (place, index), problems)
            elif identity.__class__ is str:
                path = _entry_path((place, index)).child("id")
                report_unknown_provider(identity, path, inventory, problems)


def report_unknown_provider(identity: str, path: Path, inventory: Inventory, problems: Problems) -> None:
    """Record that there is no such provider, unless it may be one that could not be read, or no id at all."""
    if not inventory.is_complete or not has_format("identifier", identity):
        return
    from difflib import get_close_matches

    # A search for something similar is slow: it helps with a few slips, not with a thousand.
    is_slip = problems.total < _MOST_SLIPS and len(inventory.providers) <= _MOST_COMPARED
    close = get_close_matches(identity, inventory.providers, 1) if is_slip else []
    hint = f"did you mean {close[0]}?" if close else ""
    problems.add(Problem("ref.unknown", path, f"there is no provider {told(identity)}", hint))


def _path(place: int) -> Path:
    return ROOT.child("models").index(place)


def _entry_path(places: tuple[int, int]) -> Path:
    return _path(places[0]).child("providers").index(places[1])


def _check_token_order(model: ReadTree, place: int, problems: Problems) -> None:
    # A count below 1 is reported as such.
    counts = [(name, count) for name in _TOKEN_ORDER if (count := known(model.get(name)) or 0) > 0]
    for (name, count), (bound_name, bound) in pairwise(counts):
        if count > bound:
            message = f'must be <= "{bound_name}" ({told(model[bound_name])}), got {told(model[name])}'
            problems.add(Problem("model.token_order", _path(place).child(name), message))


def _check_target(provider: ReadTree, entry: ReadTree, places: tuple[int, int], problems: Problems) -> None:
    target, served = entry.get("target"), provider.get("models")
    if served.__class__ is not list or not served or target in served:
        return
    targets = [known(item) for item in served]
    text = known(target)
    if text is not None and has_format("non_empty", text) and None not in targets:
        message = f"provider {told(entry['id'])} does not serve {told(target)}"
        hint = f"it serves {', '.join(map(told, served[:10]))}"
        problems.add(Problem("model.target", _entry_path(places).child("target"), message, hint))


def _check_window(
    model: ReadTree, provider: ReadTree, entry: ReadTree, places: tuple[int, int], problems: Problems
) -> None:
    size, window = known(provider.get("context_size")) or 0, known(model.get("context_window_tokens")) or 0
    if 0 < size < window:
        message = f'"context_size" of provider {told(entry["id"])} is below "context_window_tokens"'
        problems.add(Problem("model.context_size", _entry_path(places).child("id"), message))
