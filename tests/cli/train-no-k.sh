# shellcheck shell=bash
# Without options: what is chosen is printed, the run trains and resumes; secu still needs k.
coke train synthetic:n=60,size=16 --epochs 3 --warmup 1 --threads 1 -o run 2>err || { cat err; exit 1; }
grep -E 'chosen|^head' err
ls run/labels*
coke train synthetic:n=60,size=16 --epochs 3 --warmup 1 --threads 1 -o run -q | head -n 1
coke train synthetic:n=60,size=16 --ratio 0.5 --epochs 3 --threads 1 --warmup 1 -o other 2>err || exit 1
grep -E '^(ratio|head 0)' err
coke train synthetic:n=60,size=16 --method secu --no-predictor -o third
