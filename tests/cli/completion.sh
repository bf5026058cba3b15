# shellcheck shell=bash
# The completion knows commands, options and the words of a choice.
coke help --bash > c.bash || exit 1
complete_line() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _coke
    echo "${COMPREPLY[*]}"
}
. ./c.bash
complete_line coke clu
complete_line coke cluster --max-r
complete_line coke cluster --init k
complete_line coke cluster --no-r
complete_line coke da
complete_line coke data pr
complete_line coke data preview --rec
complete_line coke data preview --recipe cifar-s
