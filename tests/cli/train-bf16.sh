# shellcheck shell=bash
# bf16 with the instructions of this CPU, or emulated: killed and resumed it gives the same bytes,
# auto keeps what it chose, and where bf16 is slower it says so. Emulated tiles always are.
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
export COKE_ISA=amx-emulated
options=("${options[@]:0:${#options[@]}-1}" --epochs 2 --warmup 0)
coke train "${options[@]}" --precision bf16 -o slow 2>&1 |
    grep -o 'precision bf16 is slower than f32 on this CPU'
coke train "${options[@]}" --precision auto -o fast 2>&1 | grep -o 'precision f32: measured'
grep -o '"precision": "f32"' fast/config.json
