#!/bin/sh
# Put the real Argilla client into a virtual environment: install_argilla.sh VENV
# Of its own, since budgetplan does not need it, and its choice of datasets and pandas is no one else's. About 450 MB.
# It imports requests without asking for it. Which Python and which package index: PYTHON and pip's own variables.
set -eu
venv=$1
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check argilla==2.8.0 requests==2.34.2
"$venv/bin/python" -c 'import argilla'
