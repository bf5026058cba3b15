# shellcheck shell=bash
# Without options: what is chosen is printed, the run trains and resumes; secu still needs k.
coke train synthetic:n=60,size=16 --epochs 3 --warmup 1 --threads 1 -o run 2>err || { cat err; exit 1; }
grep -E 'chosen|^head' err
ls run/labels*
coke train synthetic:n=60,size=16 --epochs 3 --warmup 1 --threads 1 -o run -q | head -n 1
coke train synthetic:n=60,size=16 --ratio 0.5 --epochs 3 --threads 1 --warmup 1 -o other 2>err || exit 1
grep -E '^(ratio|head 0)' err
# One small image, the first, among larger ones does not decide the size.
py <<'P'
for i in range(20):
    photo("set/%02d.png" % i, *((12, 12) if i == 0 else (40, 36)), seed=i)
P
coke train set --epochs 3 --warmup 1 --threads 1 --width 0.0625 -o mixed 2>err >/dev/null ||
    { cat err; exit 1; }
grep -E '^(embed-)?size' err
coke train synthetic:n=60,size=16 --method secu --no-predictor -o third
