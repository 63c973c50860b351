"""Every rule that a violation or a warning can name (CFG-04).

Ids are stable: scripts and dashboards depend on them. `docs/rules.md` is generated from here, and SARIF output quotes
the meanings.
"""

from enum import StrEnum
from typing import Final, Literal, Self

Severity = Literal["error", "warning"]

ERROR: Final[Severity] = "error"
WARNING: Final[Severity] = "warning"


class Rule(StrEnum):
    """A rule: the text of its id, with what it means and the rules of the contract behind it."""

    severity: Severity
    meaning: str
    contract: tuple[str, ...]

    def __new__(cls, rule_id: str, severity: Severity, meaning: str, *contract: str) -> Self:
        """Make a member of its id, severity, meaning, and rules of the contract."""
        rule = str.__new__(cls, rule_id)
        rule._value_ = rule_id
        rule.severity, rule.meaning, rule.contract = severity, meaning, contract
        return rule

    # YAML files
    FILE_MISSING = "file.missing", ERROR, "The file does not exist."
    FILE_UNREADABLE = "file.unreadable", ERROR, "The file cannot be read, or is not a regular file."
    YAML_ALIAS = (
        "yaml.alias",
        ERROR,
        "An alias refers to an anchor that is not defined before it, or that contains it.",
        "CFG-11",
    )
    YAML_ALIASING = "yaml.aliasing", ERROR, "Aliases expand the file beyond the limit.", "CFG-10"
    YAML_DEPTH = "yaml.depth", ERROR, "The file is nested too deeply.", "CFG-10"
    YAML_DIRECTIVE = "yaml.directive", ERROR, "Directives (`%...`) are not allowed.", "CFG-11"
    YAML_DOCUMENTS = "yaml.documents", ERROR, "The file has more than one document.", "CFG-10"
    YAML_DUPLICATE_KEY = "yaml.duplicate_key", ERROR, "A key occurs twice in one mapping.", "CFG-02"
    YAML_EMPTY = "yaml.empty", ERROR, "The file is empty.", "CFG-10"
    YAML_ENCODING = (
        "yaml.encoding",
        ERROR,
        "The file is not UTF-8, or has a character that YAML does not allow.",
        "CFG-10",
    )
    YAML_KEY = "yaml.key", ERROR, "A key is null, an alias, or not a scalar.", "CFG-11"
    YAML_MERGE = "yaml.merge", ERROR, "A merge key (`<<`) takes a mapping or a list of mappings.", "CFG-11"
    YAML_ROOT = "yaml.root", ERROR, "The top level of the file must be a mapping.", "CFG-10"
    YAML_SIZE = "yaml.size", ERROR, "The file, or one scalar in it, exceeds the size limit.", "CFG-10"
    YAML_SYNTAX = "yaml.syntax", ERROR, "The file is not valid YAML."
    YAML_TAG = "yaml.tag", ERROR, "Explicit tags are not allowed.", "CFG-11"

    # Fields
    FIELD_DUPLICATE = "field.duplicate", ERROR, "A field is set twice, under two spellings of its key.", "CFG-02"
    FIELD_LEGACY = "field.legacy", ERROR, "The key is from an old release; the hint says what replaced it.", "CFG-03"
    FIELD_REFUSED = "field.refused", ERROR, "The field does not apply to this type of adapter.", "VAL-05"
    FIELD_REQUIRED = "field.required", ERROR, "A required field is missing.", "CFG-01"
    FIELD_TYPE = "field.type", ERROR, "The value has the wrong type for its field.", "CFG-02"
    FIELD_UNKNOWN = "field.unknown", ERROR, "The key is not in the schema.", "CFG-01"

    # Values
    VALUE_ADDRESS = "value.address", ERROR, "The value must be `host:port`, `[v6]:port` or `unix:PATH`.", "VAL-10"
    VALUE_AUTH_SCHEME = "value.auth_scheme", ERROR, "The value must be an authentication scheme, or empty.", "VAL-10"
    VALUE_DUPLICATE = "value.duplicate", ERROR, "A list contains the same item twice.", "VAL-06"
    VALUE_ENUM = "value.enum", ERROR, "The value must be one of the field's words; the message lists them."
    VALUE_GT = "value.gt", ERROR, "The number must be greater than the field's bound.", "VAL-01"
    VALUE_GTE = "value.gte", ERROR, "The number is below the field's minimum.", "VAL-06"
    VALUE_HEADER_NAME = "value.header_name", ERROR, "The value must be a header name.", "VAL-10"
    VALUE_HEADER_VALUE = "value.header_value", ERROR, "A header value must not contain a line break or NUL.", "VAL-10"
    VALUE_HTTP_PATH = "value.http_path", ERROR, "The value must be a path on an HTTP server, starting with `/`."
    VALUE_IDENTIFIER = (
        "value.identifier",
        ERROR,
        "An identifier is empty, too long, or contains white space or control characters.",
        "VAL-02",
    )
    VALUE_LTE = "value.lte", ERROR, "The number is above the field's maximum.", "VAL-06"
    VALUE_MIN_ITEMS = "value.min_items", ERROR, "The list has too few items.", "VAL-06"
    VALUE_NON_EMPTY = "value.non_empty", ERROR, "The text must not be empty."
    VALUE_NULL = (
        "value.null",
        ERROR,
        "Null is not allowed in a list, nor as a map's value outside an overlay.",
        "CFG-05",
    )
    VALUE_PEM = "value.pem", ERROR, "The value must be PEM text."
    VALUE_RANGE = "value.range", ERROR, "The number does not fit the field's type.", "VAL-06"
    VALUE_REDACTED = "value.redacted", ERROR, "`<redacted>` is how a secret is printed; it is not a value.", "NRM-07"
    VALUE_SHA256 = "value.sha256", ERROR, "The value must be a SHA-256 digest in hexadecimal.", "VAL-08"
    VALUE_TOKEN = "value.token", ERROR, "A token must be printable ASCII without spaces around it."
    VALUE_URL = "value.url", ERROR, "The value must be an absolute `http` or `https` URL.", "VAL-10"

    # Layers, references and secrets
    CREDENTIAL_TRACKED = "credential.tracked", ERROR, "A tracked file contains a secret.", "CFG-07"
    LAYER_CONFLICT = "layer.conflict", ERROR, "Two tracked files set one value differently.", "CFG-05"
    LAYER_LIMIT = "layer.limit", ERROR, "The config has too many files.", "CFG-10"
    REFERENCE_MISSING = (
        "reference.missing",
        ERROR,
        "The environment variable or file that a reference names cannot be used.",
        "CFG-06",
    )
    REFERENCE_NOT_ALLOWED = "reference.not_allowed", ERROR, "A reference is not allowed here.", "CFG-06"
    REFERENCE_SYNTAX = "reference.syntax", ERROR, "`${` does not begin a valid reference.", "CFG-06"
    REFERENCE_UNRESOLVED = (
        "reference.unresolved",
        ERROR,
        "The config was loaded without resolving its references.",
        "CFG-06",
    )

    # The config as a whole
    ADAPTER_LABEL = (
        "adapter.label",
        ERROR,
        "Providers of different type aliases share an adapter instance that has no `provider` label.",
        "NRM-03",
    )
    ADAPTER_PROTOCOL_PROFILE = (
        "adapter.protocol_profile",
        ERROR,
        "The adapter type does not speak this protocol profile.",
        "NRM-05",
    )
    ADAPTER_UNUSED = "adapter.unused", WARNING, "No provider or route uses the adapter instance.", "VAL-11"
    ID_DUPLICATE = (
        "id.duplicate",
        ERROR,
        "A value that must be unique is used twice; the message names both places.",
        "VAL-02",
    )
    LISTEN_CONFLICT = "listen.conflict", ERROR, "Two enabled listeners share an address.", "VAL-10"
    MODEL_CONTEXT_SIZE = (
        "model.context_size",
        ERROR,
        "A provider's context size is below the model's context window.",
        "VAL-07",
    )
    MODEL_IDLE = "model.idle", WARNING, "No provider of the model is enabled.", "VAL-11"
    MODEL_TARGET = "model.target", ERROR, "The provider does not serve this target.", "VAL-07"
    MODEL_TOKEN_ORDER = "model.token_order", ERROR, "The token counts of a model are out of order.", "VAL-07"
    NODE_PLAIN_TEXT = "node.plain_text", WARNING, "The Edge talks to a Node beyond loopback in plain text.", "VAL-11"
    OPENAI_OPEN = (
        "openai.open",
        WARNING,
        "The front listens beyond loopback without principal tokens, so anyone who reaches it may call.",
        "POL-09",
    )
    PRINCIPAL_NO_TOKEN = (
        "principal.no_token",
        ERROR,
        "The digest is that of an empty text, which is nobody's token.",
        "VAL-08",
    )
    PROVIDER_CATEGORY = "provider.category", ERROR, "The provider's category does not match its adapter type.", "VAL-05"
    PROVIDER_SHORTHAND = (
        "provider.shorthand",
        ERROR,
        "Connection fields stand beside `adapter`, or do not suffice for the provider's type.",
        "NRM-02",
    )
    PROVIDER_UNPROBED = "provider.unprobed", WARNING, "Active health checks do not work for command-line agents."
    PROVIDER_AUTH_CATEGORY = (
        "provider_auth.category",
        WARNING,
        "A listed provider is not of category `api`, so it never receives a token.",
        "POL-08",
    )
    PROVIDER_AUTH_FROM_HEADER = (
        "provider_auth.from_header",
        ERROR,
        "This header carries the principal's own token, or cannot carry a token.",
        "VAL-12",
    )
    PROVIDER_AUTH_MANY_HOSTS = (
        "provider_auth.many_hosts",
        WARNING,
        "A caller's token could reach providers on more than one host.",
        "VAL-11",
    )
    PROVIDER_AUTH_TARGET_HEADER = "provider_auth.target_header", ERROR, "This header cannot carry a token.", "POL-08"
    REF_AMBIGUOUS = "ref.ambiguous", ERROR, "The name fits more than one adapter instance.", "VAL-03"
    REF_DISABLED = "ref.disabled", ERROR, "The adapter instance is disabled.", "VAL-03"
    REF_TYPE = "ref.type", ERROR, "The types of provider and adapter instance differ.", "VAL-03"
    REF_UNKNOWN = "ref.unknown", ERROR, "The name refers to nothing in the config.", "VAL-03", "VAL-07", "VAL-09"
    ROUTE_SHADOWED = "route.shadowed", WARNING, "A model group has the route's id, and wins.", "VAL-09"
    ROUTE_TARGET = "route.target", ERROR, "No provider on the adapter instance serves the target.", "VAL-09"

    # Migrations
    MIGRATE_KEPT = (
        "migrate.kept",
        WARNING,
        "`config migrate` kept an old spelling, because changing it could change its meaning.",
    )

    # Refreshes
    NODE_REJECTED = "node.rejected", ERROR, "A Node rejects its payload.", "REF-05"
    NODE_UNREACHABLE = "node.unreachable", ERROR, "A Node that had to answer did not.", "PSH-03"
    PROVIDER_DRAINING = (
        "provider.draining",
        WARNING,
        "When the wait ended, a changed provider still ran more requests than its capacity.",
        "POL-05",
    )
    REFRESH_APPLY_FAILED = (
        "refresh.apply_failed",
        ERROR,
        "Applying failed; the previous config stays in force.",
        "REF-05",
    )
    REFRESH_CONFIRMED = "refresh.confirmed", ERROR, "The revert came too late: the revision is confirmed or replaced."
    REFRESH_EXPECTED_CANDIDATE = "refresh.expected_candidate", ERROR, "The candidate is not the expected one.", "REF-05"
    REFRESH_EXPECTED_REVISION = (
        "refresh.expected_revision",
        ERROR,
        "The running revision is not the expected one.",
        "REF-05",
    )
    REFRESH_MODE = "refresh.mode", ERROR, "The refresh mode is invalid.", "REF-05"
    REFRESH_NO_FILES = "refresh.no_files", ERROR, "The Edge has no files of its own to reload."
    ROLLBACK_REVISION = "rollback.revision", ERROR, "The history does not have this revision.", "REF-11"
    ROLLBACK_SECRET = "rollback.secret", ERROR, "A secret of the old config is no longer available.", "REF-11"

    # Rejections by a Node
    NODE_ADAPTER = "node.adapter", ERROR, "The adapter cannot be built.", "PSH-02"
    NODE_EDGE = "node.edge", ERROR, "The Node belongs to another Edge.", "PSH-02"
    NODE_GENERATION = "node.generation", ERROR, "The generation is not newer than the running one.", "PSH-02"
    NODE_HEALTH = "node.health", ERROR, "An active health check needs an interval and a timeout.", "PSH-02"
    NODE_ID = "node.id", ERROR, "The payload is for another Node.", "PSH-02"
    NODE_NAME = "node.name", ERROR, "An adapter or resource has no name, or one that is taken.", "PSH-02"
    NODE_PAYLOAD = "node.payload", ERROR, "The push has no payload, or no payload hash.", "PSH-02"
    NODE_PROFILE = "node.profile", ERROR, "The Node's software does not have this profile.", "VAL-05"
    NODE_UNKNOWN = "node.unknown", ERROR, "The payload has a field or kind that the Node does not know.", "PSH-02"
    NODE_URL = "node.url", ERROR, "An adapter's URL is not valid.", "PSH-02"
