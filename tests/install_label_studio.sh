#!/bin/sh
# Put the real Label Studio into a virtual environment of its own: install_label_studio.sh VENV
# Of its own, since it pins other versions of Django, numpy and pandas than anything else wants. About 1 GB.
# Which Python and which package index: PYTHON and pip's own environment variables.
set -eu
venv=$1
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check label-studio==1.23.2
"$venv/bin/python" -c 'import label_studio'
