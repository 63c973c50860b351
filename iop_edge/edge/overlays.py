"""The raw secrets that the private overlays of an Edge hold now, by path (REF-11)."""

from iop_edge.config.decode import decode
from iop_edge.config.files import FileResolver
from iop_edge.config.layers import Layer, merge
from iop_edge.config.normalize import normalize
from iop_edge.config.problems import Problems
from iop_edge.config.resolve import resolve
from iop_edge.edge.own_files import OwnFiles
from iop_edge.schema import table
from iop_edge.schema.values import ReadTree


def present_secrets(files: OwnFiles) -> ReadTree:
    """Return what the overlays hold, normalized for itself: a history's paths are those of a normalized config.

    An overlay that cannot be read, or breaks a rule by itself, gives nothing; the others still do. Nor does a reference
    that does not resolve.
    """
    layers = []
    for source in files.overlays():
        decoded = decode(source)
        if decoded.tree is not None and not decoded.total:
            layers.append(Layer(decoded.tree, private=True))
    # An overlay is no whole config: what it lacks, and so what is wrong with it as a whole, means nothing here.
    ignored = Problems()
    merged = resolve(merge(layers, table.root(), ignored), table.root(), FileResolver(), ignored)
    tree, _ = normalize(merged, ignored)
    return tree
