# shellcheck shell=bash
# The folder of a training that has saved nothing yet.
mkdir run
echo '{}' >run/config.json
coke export run -o out --format onnx
