# shellcheck shell=bash
# Under a limit of the address space a training does not fit (2) or runs out of memory (5), and
# says so; it never crashes.
(ulimit -v 150000 && coke --version >/dev/null 2>&1) || exit 77 # sanitizers need terabytes
for mb in 100 110 116 120 124 130; do
    rm -rf run
    (
        ulimit -v $((mb * 1000))
        coke train synthetic:n=32,size=8 -o run --k 2 --size 8 --batch 8 --epochs 3 --dim 8 \
            --width 0.03125 --recipe cifar --stem cifar --threads 1 --workers 1 -q
    ) >/dev/null 2>said
    code=$?
    case $code in
    0) ;;
    2) grep -q '^coke: batch: .* (ulimit -v)' said || echo "$mb MB: $(cat said)" ;;
    5) grep -q '^coke: .*out of memory' said || echo "$mb MB: $(cat said)" ;;
    *) echo "$mb MB: exit code $code: $(cat said)" ;;
    esac
done
echo "nothing crashed"
