#!/usr/bin/env python3
"""Checks pages of docs/reference (layers, configuration, data, losses-and-metrics) against the JSON Schema of configs,
extracts the examples from the pages, and follows their links.

    check_docs.py SOURCE SCHEMA    SOURCE: the repository. Writes the YAML examples into the current folder; exit 1 when the
                                   pages lack a type, a key, or the default of a layer's key
    check_docs.py --links SOURCE   exit 1 when a link within the documentation leads nowhere, or README.md names not every page
"""

import json
import pathlib
import re
import sys

STEP_ARGUMENTS = {"name", "inputs", "mask", "device", "repeat", "trainable", "if"}


def inlined(node, definitions, within=()):
    """The schema with each "$ref" replaced by what it points to, where "$from" keeps its name; {} where a definition stands
    inside itself."""
    if isinstance(node, list):
        return [inlined(part, definitions, within) for part in node]
    if not isinstance(node, dict):
        return node
    out = {key: inlined(part, definitions, within) for key, part in node.items() if key not in ("$ref", "$defs")}
    if "$ref" in node:
        name, *path = node["$ref"].removeprefix("#/$defs/").split("/")
        target = definitions[name]
        for key in path:
            target = target[key]
        if name not in within:
            out = {**inlined(target, definitions, (*within, name)), "$from": name, **out}
    return out


def types_of(node):
    """{type: {key: schema}} of the first family of types within a schema, without the aliases such as mse."""
    if isinstance(node, dict):
        members = node.get("properties", {}) if node.get("maxProperties") == 1 else {}
        properties = {name: t for name, t in members.items() if t.get("$from", "").endswith("." + name)}
        if properties:
            objects = {name: next(c for c in t["anyOf"] if c.get("type") == "object") for name, t in properties.items()}
            return {name: t.get("properties", {}) for name, t in objects.items()}
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    return next((found for found in map(types_of, children) if found), {})


def in_table(default):
    """A default as the tables write it."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, dict):  # {RandomUniform: {minval: -0.05, maxval: 0.05}} is written RandomUniform
        return next(iter(default))
    if isinstance(default, list):  # [2, 2] is written 2
        return in_table(default[0]) if default else "none"
    return f"{default:g}" if isinstance(default, float) else str(default)


def argument_defaults(cell, groups):
    """{key: default} of "`filters` * (required), `center`, `scale` (true), *kernel*", where groups has those of *kernel*."""
    keys, waiting, depth, begin = {}, [], 0, 0
    for token in re.finditer(r"`(\w+)`|\*(\w+)\*|[()]", cell):
        if token[0] == "(":
            depth, begin = depth + 1, begin if depth else token.end()
        elif token[0] == ")":
            depth -= 1
            if depth == 0:
                keys.update({key: cell[begin:token.start()] for key in waiting})
                waiting = []
        elif depth == 0 and token[2]:
            keys.update(groups[token[2]])
        elif depth == 0:
            waiting.append(token[1])
    return {**keys, **{key: "" for key in waiting}}


def layer_rows(page):
    """{layer: {key: its default}} of the tables in layers.md, a row for each layer or for a *group* of keys."""
    rows, groups = {}, {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        group = re.fullmatch(r"\*(\w+)\*", cells[0]) if len(cells) == 3 else None
        if group:
            groups[group[1]] = argument_defaults(cells[1], groups)
        elif len(cells) == 3 and re.match("`[A-Z]", cells[0]):
            rows.update({layer: argument_defaults(cells[1], groups) for layer in re.findall(r"`(\w+)`", cells[0])})
    return rows


def network_rows(page):
    """The same of the networks, which have one table of names, then tables of arguments for all of them."""
    section = page.split("\n## Networks\n")[1].split("\n## ")[0]
    names, *arguments = [block for block in section.split("\n\n") if block.lstrip().startswith("|")]
    keys = {}
    for line in [line for table in arguments for line in table.strip().splitlines()[2:]]:
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        keys[re.findall(r"`(\w+)`", cells[0])[0]] = cells[1] if "`" in cells[1] or cells[1][:1].isdigit() else ""
    return {name: keys for name in re.findall(r"^\| `(\w+)`", names, re.M)}


def check_layers(page, layers):
    networks, missing = network_rows(page), []
    rows = {**networks, **layer_rows(page.split("\n## Networks\n")[0])}
    for layer, keys in layers.items():
        if layer not in rows:
            missing.append(f"layers.md lacks {layer}")
            continue
        for key, schema in keys.items():
            if key in STEP_ARGUMENTS or (layer, key) == ("LeakyReLU", "alpha"):  # the older name
                continue
            default, cell = schema.get("default"), rows[layer].get(key)
            if cell is None:
                missing.append(f"layers.md lacks {key} of {layer}")
            elif default is not None and in_table(default) not in re.findall(r"[\w.+-]+", cell) and (cell or layer not in networks):
                missing.append(f"layers.md: {layer}.{key} is {in_table(default)} by default, the table says {cell}")
    arguments = layers["Dense"]
    for name in [*types_of(arguments["kernel_initializer"]), *types_of(arguments["kernel_regularizer"])]:
        if f"`{name}`" not in page:
            missing.append(f"layers.md lacks {name}")
    return missing


def check_config(pages, schema):
    """`pages`: {name: text}."""
    missing, sections = [], schema["properties"]
    for name in ("model", "data", "train", "parallel", "runtime"):
        page = "data.md" if name == "data" else "configuration.md"
        for key in sections[name]["properties"]:
            if not re.search(rf"`([\w.]+\.)?{key}[`.]", pages[page]):
                missing.append(f"{page} lacks {key} of {name}")
    train, data = sections["train"]["properties"], sections["data"]["properties"]
    optimizers = types_of(train["optimizer"])
    families = {"configuration.md": [types_of(sections["callbacks"])],
                "data.md": [types_of(data["train"]), types_of(data["transforms"])],
                "losses-and-metrics.md": [optimizers, types_of(optimizers["SGD"]["learning_rate"]), types_of(train["loss"]),
                                          types_of(train["metrics"])]}
    for page, family in [(page, family) for page, all_of_page in families.items() for family in all_of_page]:
        assert family, "a family of types is not found in the schema"
        for name, keys in family.items():
            missing += [f"{page} lacks {word} ({name})" for word in [name, *keys] if f"`{word}`" not in pages[page]]
    return missing


def write_examples(source):
    count = 0
    for page in [source / "README.md", *sorted((source / "docs/reference").glob("*.md"))]:
        for text in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            count += 1
            pathlib.Path(f"example-{count}-of-{page.stem}.yaml").write_text(text, encoding="utf-8")
    assert count >= 4, f"{count} examples found"


def anchors_of(page):
    """What GitHub makes of a page's headings, and <a id>."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = [re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.M)]
    return {*headings, *re.findall(r'<a id="([^"]+)"', text)}


def wrong_links(source):
    missing, docs = [], source / "docs"
    pages = [source / "README.md", source / "CONTRIBUTING.md", *sorted(docs.rglob("*.md"))]
    for page in pages:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path, _, anchor = target.partition("#")
            to = (page.parent / path).resolve() if path else page
            if re.match(r"\w+:", target):
                continue
            if not to.exists():
                missing.append(f"{page.relative_to(source)}: there is no {target}")
            elif anchor and to.suffix == ".md" and anchor not in anchors_of(to):
                missing.append(f"{page.relative_to(source)}: {path or page.name} has no heading #{anchor}")
    readme = (source / "README.md").read_text(encoding="utf-8")
    generated = docs / "reference/keys"  # configuration.md links to them
    named = [page.relative_to(source) for page in pages[2:] if page.name != "README.md" and page.parent != generated]
    return missing + [f"README.md does not point to {page}" for page in named if str(page) not in readme]


def main():
    if sys.argv[1] == "--links":
        missing = wrong_links(pathlib.Path(sys.argv[2]).resolve())
        print("\n".join(missing))
        return 1 if missing else 0
    source, schema = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    schema = inlined(schema, schema["$defs"])
    write_examples(source)
    layers = types_of(schema["properties"]["model"]["properties"]["layers"])
    assert len(layers) >= 21, sorted(layers)
    pages = {page.name: page.read_text(encoding="utf-8") for page in (source / "docs/reference").glob("*.md")}
    missing = check_layers(pages["layers.md"], layers) + check_config(pages, schema)
    print("\n".join(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
