"""What certificates and keys that have been renewed mean for a diff: nothing, since they are in force already (REF-04).

The Edge reads the files behind its TLS texts anew for each connection. A candidate that brings no more than what a file
says now is no change, or each renewal would hold up every live change until somebody restarts the Edge. Another file,
or a text that came from no file, is a change like any other.
"""

from iop_edge.config.snapshot import Snapshot
from iop_edge.schema.references import FileReference, parse
from iop_edge.schema.values import ReadTree, Sourced, Tree


def with_renewed(running: Snapshot, candidate: Snapshot) -> Snapshot:
    """Return what runs, with the renewed TLS texts of a candidate that names the same files."""
    tree = running.tree
    listen = _taken_up(tree["listen"], candidate.tree["listen"])
    theirs = {node["id"]: node for node in candidate.tree.get("nodes", ())}
    ours = tree.get("nodes", ())
    nodes = [_taken_up(node, theirs.get(node["id"], {})) for node in ours]
    if listen is tree["listen"] and all(new is old for new, old in zip(nodes, ours, strict=True)):
        return running
    return Snapshot({**tree, "listen": listen, **({"nodes": nodes} if nodes else {})})


def _taken_up(owner: ReadTree, candidate: ReadTree) -> ReadTree:
    ours, theirs = owner.get("tls"), candidate.get("tls")
    if not ours or not theirs or ours == theirs:
        return owner
    tls: Tree = {name: theirs[name] if _is_renewed(value, theirs.get(name)) else value for name, value in ours.items()}
    return {**owner, "tls": tls}


def _is_renewed(ours: object, theirs: object) -> bool:
    return (
        isinstance(ours, Sourced)
        and isinstance(theirs, Sourced)
        and (ours.reference, ours.base_dir) == (theirs.reference, theirs.base_dir)
        and any(isinstance(part, FileReference) for part in parse(ours.reference))
    )
