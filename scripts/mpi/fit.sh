#!/usr/bin/env bash
# Trains over several processes until the run completes: after a failure of a machine or a process, restarts it from the
# last checkpoint.
#
#   scripts/mpi/fit.sh PROCESSES CONFIG --run-dir DIR [FLAG...]
#
#   MPIRUN             the launcher and its flags (mpirun --bind-to none), e.g. "mpirun --hostfile hosts --map-by node"
#   DPTRAIN            the executable (dptrain)
#   DPTRAIN_RESTARTS   maximum number of restarts (5)
#
# Ends with dptrain's exit code. A wrong config or damaged data (2, 3), a run that diverged (6) or was stopped (130,
# 143) is not restarted.

set -euo pipefail
if [ $# -lt 2 ] || [[ $1 =~ [^0-9] ]] || [[ " $* " != *" --run-dir"[\ =]* ]]; then
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
processes=$1
shift

read -r -a launcher <<<"${MPIRUN:-mpirun --bind-to none}"
for ((restart = 0; ; ++restart)); do
  code=0
  "${launcher[@]}" -n "$processes" "${DPTRAIN:-dptrain}" fit "$@" --resume=auto || code=$?
  case $code in 0 | 2 | 3 | 6 | 7 | 130 | 143) exit $code ;; esac
  if [ $restart -ge "${DPTRAIN_RESTARTS:-5}" ]; then
    echo "fit.sh: exit code $code; started again $restart times, that is enough" >&2
    exit $code
  fi
  echo "fit.sh: exit code $code; going on from the last checkpoint" >&2
  sleep 1
done
