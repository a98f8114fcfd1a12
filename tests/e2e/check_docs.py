#!/usr/bin/env python3
"""Extracts the examples from README.md and docs/reference, and follows the links of the documentation. SOURCE: the repository.

    check_docs.py --examples SOURCE   writes the YAML examples into the current folder
    check_docs.py --links SOURCE      exit 1 if a link within the documentation is broken, README.md omits a page, or no page links
                                      to a type of docs/reference/keys
"""

import pathlib
import re
import sys


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
    missing, linked, docs = [], set(), source / "docs"
    pages = [source / "README.md", source / "CONTRIBUTING.md", *sorted(docs.rglob("*.md"))]
    generated = docs / "reference/keys"  # written by dptrain config --reference; configuration.md links to them
    for page in pages:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path, _, anchor = target.partition("#")
            to = (page.parent / path).resolve() if path else page
            if re.match(r"\w+:", target):
                continue
            if page.parent != generated:
                linked.add((to, anchor))
            if not to.exists():
                missing.append(f"{page.relative_to(source)}: there is no {target}")
            elif anchor and to.suffix == ".md" and anchor not in anchors_of(to):
                missing.append(f"{page.relative_to(source)}: {path or page.name} has no heading #{anchor}")
    readme = (source / "README.md").read_text(encoding="utf-8")
    named = [page.relative_to(source) for page in pages[2:] if page.name != "README.md" and page.parent != generated]
    missing += [f"README.md does not point to {page}" for page in named if str(page) not in readme]
    for page in sorted(generated.glob("*.md")):
        for name in re.findall(r"^## (\w+)$", page.read_text(encoding="utf-8"), re.M):
            if page.name != "sections.md" and (page, name.lower()) not in linked:
                missing.append(f"no page of docs/reference links to keys/{page.name}#{name.lower()}")
    return missing


def main():
    mode, source = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if mode == "--examples":
        write_examples(source)
        return 0
    missing = wrong_links(source)
    print("\n".join(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
