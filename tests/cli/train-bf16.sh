# shellcheck shell=bash
# bf16 with the instructions of this CPU, or emulated: killed and resumed it gives the same bytes,
# and auto keeps what it chose.
grep -q avx512_bf16 /proc/cpuinfo || export COKE_ISA=amx-emulated
options=(synthetic:n=60 -k 4 --width 0.0625 --size 16 --batch 20 --epochs 3 --monitor 0 --threads 1
    --save-steps 1 --quiet)
coke train "${options[@]}" --precision bf16 -o whole >/dev/null || exit 1
coke train "${options[@]}" --precision bf16 -o parts >/dev/null 2>&1 &
until [ -e parts/last.safetensors ] || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
kill -KILL $! 2>/dev/null
wait $! 2>/dev/null
coke train "${options[@]}" --precision bf16 -o parts >/dev/null || exit 1
cmp whole/last.safetensors parts/last.safetensors && echo same
coke train "${options[@]}" --precision auto -o chosen >/dev/null || exit 1
grep -q '"precision": "\(f32\|bf16\)"' chosen/config.json && echo chosen
coke embed whole synthetic:n=20 --precision bf16 -o e.npy --quiet
