# shellcheck shell=bash
# Bar and log number epochs alike, the time left knows that epoch 0 is cheap, and a bar is no
# wider than the terminal. A rate is shown after a tenth of a second: enough images for that.
set -- --recipe cifar-small --arch resnet18 --stem cifar --width 0.0625 \
    --size 16 --batch 20 -k 4 --warmup 0 --optimizer sgd --rate 0.01 --threads 1
coke train synthetic:n=3000,size=16 "$@" --epochs 3 -o run 2>log >/dev/null || exit 1
py <<'P'
import re
log = open("log").read()
shown = re.findall(r"^epoch (\d+)/2: 100 %", log, re.M)
assert shown == ["0", "1", "2"], log
assert re.findall(r"^epoch (\d+): loss", log, re.M) == shown, log
rate, left = re.search(r"^epoch 0/2: 100 % ([\d.]+k?) images/s, (\d+) s left", log, re.M).groups()
rate = float(rate[:-1]) * 1000 if rate[-1] == "k" else float(rate)
assert abs(int(left) - 2 * 2.5 * 3000 / rate) <= 1.5, (rate, left)
P
command -v script >/dev/null || exit 0
script -qec true /dev/null </dev/null >/dev/null 2>&1 || exit 0 # no pseudo-terminals here
for columns in 30 60 200; do
    script -qec "stty cols $columns; coke train synthetic:n=120,size=16 $* --epochs 3 --fresh --force -o run" /dev/null </dev/null >wide.txt || exit 1
    COLUMNS=$columns py <<'P'
import os, re
columns = int(os.environ["COLUMNS"])
text = re.sub(rb"\x1b\[3?[02]?m", b"", open("wide.txt", "rb").read())
bars = [b.split(b"\r")[0].split(b"\n")[0] for b in text.split(b"\r\x1b[K")[1:]]
bars = [b for b in bars if re.match(rb"epoch \d+/", b)]
assert bars and max(map(len, bars)) < columns, (columns, bars)
assert any(b"[##" in b for b in bars) == (columns >= 60), bars
for b in bars:
    words = re.sub(rb".*?(\] |/\d+ +)", b"", b).strip()
    assert all(re.fullmatch(rb"\d+ %( [\d.]+k? images/s| loss \d+\.\d{4})?|[\d.]+ (s|min|h) left|"
                            rb"loss \d+\.\d{4}|rate [\d.e-]+|\d+ % waiting for data", w)
               for w in words.split(b", ")), b
P
done
