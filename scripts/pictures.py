#!/usr/bin/env python3
"""Makes the pictures of README.md in docs/pictures: the output of `dptrain fit` and the report of the run.

    scripts/pictures.py DPTRAIN [CONFIG [EPOCHS]]   DPTRAIN: the executable; CONFIG: relative to the repository
                                                    (configs/fashion_mnist.yaml), 4 epochs

Trains in a temporary folder and writes terminal-{light,dark}.svg and report-{light,dark}.png. The report needs Chromium.
"""

import html
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "docs/pictures"
SCHEMES = {"light": {"paper": "#ffffff", "frame": "#d0d7de", "text": "#1f2328", "prompt": "#0969da"},
           "dark": {"paper": "#0d1117", "frame": "#30363d", "text": "#e6edf3", "prompt": "#58a6ff"}}
FONT, LINE, COLUMN, MARGIN = 14, 20, 8.43, 16   # pixels; COLUMN: width of a character of the font
REPORT_WIDTH, REPORT_HEIGHT = 1100, 800


def terminal(command, lines, colors):
    width = MARGIN * 2 + COLUMN * max(map(len, [command, *lines]))
    height = MARGIN * 2 + LINE * (len(lines) + 1)
    rows = [f'<tspan x="{MARGIN}" y="{MARGIN + FONT + LINE * i}"{extra}>{html.escape(text)}</tspan>'
            for i, (text, extra) in enumerate([(command, f' fill="{colors["prompt"]}"'), *((line, "") for line in lines)])]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" '
            f'role="img"><title>{html.escape(command)}</title>'
            f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" rx="6" fill="{colors["paper"]}" '
            f'stroke="{colors["frame"]}"/>'
            f'<text xml:space="preserve" font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" '
            f'font-size="{FONT}" fill="{colors["text"]}">\n' + "\n".join(rows) + "\n</text></svg>\n")


def report(browser, page, scheme, folder):
    preferred = {"dark": 0, "light": 1}[scheme]
    subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/{scheme}",
                    f"--blink-settings=preferredColorScheme={preferred}", f"--window-size={REPORT_WIDTH},{REPORT_HEIGHT}",
                    f"--screenshot={OUT}/report-{scheme}.png", page.as_uri()], check=True, capture_output=True)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    dptrain = pathlib.Path(sys.argv[1]).resolve()
    config = sys.argv[2] if len(sys.argv) > 2 else "configs/fashion_mnist.yaml"
    epochs = sys.argv[3] if len(sys.argv) > 3 else "4"
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("pictures.py: Chromium is missing; install the package chromium")
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--cpus", "2", "--epochs", epochs]
        done = subprocess.run([dptrain, "fit", ROOT / config, *flags], cwd=folder, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"pictures.py: fit ended with code {done.returncode}\n{done.stderr}")
        [run] = pathlib.Path(folder).glob("runs/*/001")
        output = (done.stderr + done.stdout).rstrip().splitlines()
        lines = [line for line in output if not line.startswith("step ")]  # a terminal shows a bar instead
        for scheme, colors in SCHEMES.items():
            text = terminal(" ".join(["$ dptrain fit", config, *flags]), lines, colors)
            (OUT / f"terminal-{scheme}.svg").write_text(text, encoding="utf-8")
            report(browser, run / "report.html", scheme, folder)


if __name__ == "__main__":
    main()
