"""What is generated: each function fills its part of an empty tree that is laid out as the project is."""

import importlib
import json
import sys
from pathlib import Path

from codegen import compilers

PYTHON_PARTS = ("gen/python/iop_pb", "gen/jsonschema", "gen/refresh-classes.txt", "docs/rules.md")
"""What `write_python` makes."""

GO_PARTS = ("gen/go/iop",)
"""What `write_go` makes; the module file beside it is kept by hand."""

_CONFIG_PACKAGES = "iop."

_MESSAGE_POOL = '''\
# Generated. DO NOT EDIT!
"""The registry of the generated messages. A message of ours is made safe to print as it registers (CFG-08)."""

import betterproto2

from iop_edge.schema.redact import printer
from iop_pb import field_table


class MessagePool(betterproto2.MessagePool):
    """The registry."""

    def register_message(self, package_name: str, message_name: str, message_type: type[betterproto2.Message]) -> None:
        """Register a message."""
        super().register_message(package_name, message_name, message_type)
        if field_table.MESSAGES.get(message_name, {}).get("full_name") == f"{package_name}.{message_name}":
            message_type.__repr__ = printer(message_name)  # type: ignore[method-assign]


default_message_pool = MessagePool()
'''


def write_python(root: Path, work: Path) -> None:
    """Generate the Python package, the field table, and what is rendered from it.

    The descriptors are read with the options package that has just been generated, and the JSON Schema is rendered from
    the table that has just been written: both are imported from the new tree, which is why this module does not import
    them at its top.

    Raises:
        GenerationError: a compiler failed, or warned.
        ValueError: the protos break a rule of their own, such as a config field without a refresh class.
    """
    compilers.generate(root, "buf.gen.yaml", work)
    package = work / "gen" / "python"
    sys.path.insert(0, str(package))
    importlib.invalidate_caches()
    (package / "iop_pb" / "py.typed").touch()
    for name, text in _schema_modules(root, work).items():
        (package / "iop_pb" / name).write_text(text, encoding="utf-8")
    # Only now: the options are read with generated messages too, before there is a table to print them by.
    (package / "iop_pb" / "message_pool.py").write_text(_MESSAGE_POOL, encoding="utf-8")
    _write_renderings(work)


def _schema_modules(root: Path, work: Path) -> dict[str, str]:
    """Return the modules that are made of the descriptors, by their names."""
    from codegen import descriptors, field_table, options, typed_trees

    descriptor_set = work / "descriptors.binpb"
    compilers.build_descriptors(root, descriptor_set)
    schema = descriptors.read(descriptor_set, _CONFIG_PACKAGES)
    options.check(schema)
    return {
        "field_table.py": compilers.formatted(field_table.render(schema)),
        "trees.py": compilers.formatted(typed_trees.render(schema)),
    }


def _write_renderings(work: Path) -> None:
    from codegen import refresh_classes, rules_page
    from iop_edge.schema.json_schema import json_schema

    (work / "docs").mkdir()
    (work / "docs" / "rules.md").write_text(rules_page.render(), encoding="utf-8")
    gen = work / "gen"
    (gen / "refresh-classes.txt").write_text(refresh_classes.render(), encoding="utf-8")
    (gen / "jsonschema").mkdir()
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False)
    (gen / "jsonschema" / "edge.schema.json").write_text(f"{text}\n", encoding="utf-8")


def write_go(root: Path, work: Path) -> None:
    """Generate the Go packages, with the compilers that `codegen/go` pins.

    Raises:
        GenerationError: Go or a compiler failed, or warned.
    """
    tools = work / "go-tools"
    tools.mkdir()
    compilers.run(["go", "build", "-o", str(tools), "tool"], root / "codegen" / "go")
    compilers.generate(root, "buf.gen.go.yaml", work, extra_path=tools)
