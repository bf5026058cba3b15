# shellcheck shell=bash
# train/ and val/ are no classes.
py <<'P'
photo("set/train/cat/a.jpg"); photo("set/val/cat/b.jpg")
P
coke data info set
