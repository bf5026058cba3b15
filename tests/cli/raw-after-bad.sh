# shellcheck shell=bash
# Rows without a header that do not fit what is asked of them.
py <<'P'
x = save(n=900, groups=4).astype("f2")
x.tofile("x.dat")
P
coke cluster x.dat --raw f16:8 -k 4 -o made -q >/dev/null || exit 1
coke eval cluster made --vectors x.dat -q
coke eval cluster made --vectors x.dat --raw f16:4 -q
coke report made --vectors x.dat --raw f16:7 -o r.html -q
coke info x.dat --raw f16
coke info made --raw f16:8
coke info x.dat --raw f16:11
code=$?
ls r.html 2>/dev/null
exit $code
