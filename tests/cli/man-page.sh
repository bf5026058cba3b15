# shellcheck shell=bash
# The manual page has every option, and roff has nothing to complain about.
coke help --man > coke.1 || exit 1
grep -q 'max\\-epochs' coke.1 || exit 1
command -v man >/dev/null || exit 77
MANROFFSEQ='' MANWIDTH=80 man --warnings -l coke.1 >text 2>warnings || exit 77
cat warnings
