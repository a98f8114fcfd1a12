"""Helpers of the scripts in this folder."""

import math
import subprocess


def dptrain(program, *words):
    """What it prints; an error with what it printed where it fails."""
    command = [program, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def nan_as_infinite(difference):
    """For the largest of several differences: max() and > ignore NaN."""
    return math.inf if math.isnan(difference) else float(difference)
