"""Runs dptrain for the scripts of this folder."""

import subprocess


def dptrain(program, *words):
    """What it prints; an error with what it printed where it fails."""
    command = [program, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
