"""The small config with something added to one of its places."""

from tests.unit.config.loading import BASE


def at_provider(text: str) -> str:
    return BASE.replace("models: [m]}", f"models: [m], {text}}}", 1)


def at_model(text: str) -> str:
    return BASE.replace("providers: [p]", f"providers: [p], {text}", 1)


def at_adapter(text: str) -> str:
    return BASE.replace("{name: a,", f"{{name: a, {text},", 1)


def at_root(text: str) -> str:
    return BASE + text + "\n"


def at_node(text: str) -> str:
    return BASE.replace("- id: n\n", f"- id: n\n    {text}\n", 1)


def token(text: str) -> str:
    return at_root(f"openai: {{principal_tokens: [{text}]}}")


def route(text: str) -> str:
    return at_root(f"openai: {{model_routes: [{{model: r, {text}}}]}}")
