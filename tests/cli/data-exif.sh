# shellcheck shell=bash
py <<'P'
photo("set/a.jpg", 40, 20, orientation=6)
P
coke data info set | grep -E 'width|height|EXIF' || exit 1
coke data info set --exif | grep -E 'width|height|EXIF'
