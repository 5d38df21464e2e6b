#!/bin/sh
# culprit_torchrun.sh ARGUMENT...: torchrun, watched. With this file and culprit_watch.sh in one folder, executable:
#
#     CULPRIT_FOLDER=/shared/logs/$JOB culprit_torchrun.sh --nnodes=4 --nproc-per-node=8 train.py
#
# It runs each worker, and torchrun itself, under culprit_watch.sh, which has the settings: a worker that dies is reported
# to torchrun when the others of its node have been looked at, for torchrun kills them at once. Workers are started by
# this file, in place of the Python in PYTHON_EXEC, which torchrun reads; a training program that is started with
# --no-python is not watched, torchrun is.
case $0 in /*) here=$0 ;; */*) here=$PWD/$0 ;; *) here=$(command -v "$0") ;; esac
watch=${here%/*}/culprit_watch.sh
if [ -n "${CULPRIT_PYTHON-}" ]; then # a worker; who reports is torchrun
  python=$CULPRIT_PYTHON
  unset CULPRIT_PYTHON CULPRIT_REPORT
  exec "$watch" "$python" "$@"
fi
CULPRIT_PYTHON=${PYTHON_EXEC:-$(command -v python3 || command -v python)} PYTHON_EXEC=$here
export CULPRIT_PYTHON PYTHON_EXEC
exec "$watch" "${CULPRIT_TORCHRUN:-torchrun}" "$@"
